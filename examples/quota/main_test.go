package main

import (
	"io"
	"testing"
)

func TestClaimsHold(t *testing.T) { run(t, io.Discard) }
