package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"io"
	"strings"
	"testing"

	"github.com/matryer/is"
)

func blue() color.Color { return color.RGBA{0x2f, 0x7d, 0xe1, 0xff} }

// words are the texts of a drawing.
func words(t *testing.T, drawn []byte) string {
	t.Helper()
	var all []string
	d := xml.NewDecoder(bytes.NewReader(drawn))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, "\n")
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		if text, ok := token.(xml.CharData); ok {
			all = append(all, strings.TrimSpace(string(text)))
		}
	}
}

func TestLinesTellWhatTheyShow(t *testing.T) {
	is := is.New(t)
	lines := Lines{
		Title: "Load & success",
		X:     Axis{Label: "time (s)", Max: 10, Ticks: []float64{0, 5, 10}},
		Panels: []Panel{
			{Y: Axis{Label: "load (1/s)", Max: 4, Ticks: []float64{0, 4}}, Series: []Series{
				{Name: "one", Color: blue(), X: []float64{0, 10}, Y: []float64{1, 3}},
				{Name: "two", Color: blue(), Bold: true, Dashed: true, X: []float64{0, 10}, Y: []float64{3, 1}},
			}},
			{Y: Axis{Label: "success (%)", Max: 100, Ticks: []float64{0, 100}}, Series: []Series{
				{Name: "one", Color: blue(), X: []float64{0, 10}, Y: []float64{50, 60}},
				{Color: blue(), Dots: true, X: []float64{5}, Y: []float64{55}},
			}},
		},
		Shaded: Shade{From: 2, To: 4, Text: "trouble"},
		Height: 300,
	}
	drawn, err := lines.SVG()
	is.NoErr(err)
	again, err := lines.SVG()
	is.NoErr(err)
	is.Equal(string(again), string(drawn)) // the same data gives the same bytes
	text := words(t, drawn)
	for _, want := range []string{"Load & success", "time (s)", "load (1/s)", "success (%)", "trouble", "100"} {
		is.True(strings.Contains(text, want)) // title, axes with units, ticks and marks are text
	}
	is.Equal(strings.Count(text, "one"), 1)            // a name has one place in the legend
	is.True(!bytes.Contains(drawn, []byte("#FFFFFF"))) // nothing is white, not even what is behind
}

func TestBarsTellTheirValues(t *testing.T) {
	is := is.New(t)
	drawn, err := Bars{
		Title:   "Success (%)",
		Rows:    []string{"one", "two"},
		Colors:  []color.Color{blue(), blue()},
		Columns: []Column{{Title: "by chance", Max: 100, Values: []float64{99.94, 12.5}, Format: "%.1f"}},
	}.SVG()
	is.NoErr(err)
	text := words(t, drawn)
	for _, want := range []string{"Success (%)", "one", "two", "by chance", "99.9", "12.5"} {
		is.True(strings.Contains(text, want)) // all that is needed to read it is text
	}
}
