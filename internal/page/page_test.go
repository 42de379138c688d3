package page_test

import (
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient/internal/page"
	"github.com/matryer/is"
)

func TestPolicyPermitsTheStyleAndTheScriptOfTheDocument(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	document, policy := page.Build()
	for _, tag := range []string{"style", "script"} {
		found := regexp.MustCompile(`(?s)<`+tag+`[^>]*>(.*?)</`+tag+`>`).FindAllSubmatch(document, -1)
		is.Equal(len(found), 1) // there is one
		sum := sha256.Sum256(found[0][1])
		is.True(strings.Contains(policy, tag+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"';")) // by its hash
	}
	is.True(len(document) < 40<<10) // it is not large
}
