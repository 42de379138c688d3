package pagetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a-seed-e0941262/resilient"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"
)

func TestAThousandClientsStayUsable(t *testing.T) {
	is := is.New(t)
	f, _ := exhausted(t) // the one to be found
	for i := range 1000 {
		m := f.add(resilient.New(fmt.Sprintf("service-%04d", i)), member{method: "GET", status: always(200)})
		m.call(false)
	}
	b := open(t, f.Handler(), "/")
	b.await(`!document.getElementById("detail").hidden`)
	rows := `document.querySelectorAll("#rows tr").length`
	is.Equal(b.number(rows), 50)                                      // a page of them
	is.True(b.number(`document.querySelectorAll("*").length`) < 1500) // elements in all
	is.True(strings.HasPrefix(b.text("#rows th"), "pricing"))         // the one in trouble first
	is.Equal(b.text("#range"), "1 to 50 of 1,001")                    // where we are
	b.screenshot("thousand")
	b.do(chromedp.Click(chromedp.CSS("#next")))
	b.await(`document.getElementById("range").textContent === "51 to 100 of 1,001"`)
	is.Equal(b.number(rows), 50) // no more of them
	b.do(chromedp.SendKeys(chromedp.CSS("#search"), "service-0777"))
	b.await(rows + ` === 1`)
	is.True(strings.HasPrefix(b.text("#rows th"), "service-0777")) // found
}
