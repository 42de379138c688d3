// Package chart draws the plots of the evidence as SVG, with gonum.org/v1/plot. They have no background, and colours that can be
// read on white and on black.
package chart

import (
	"bytes"
	"fmt"
	"html"
	"image/color"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// width of all charts: 800 pixels.
const width = 600 * vg.Length(1)

// The sizes of letters, in points.
const (
	titleSize = 11
	textSize  = 9
)

// ink is for text and axes, faint for what is behind the data.
func ink() color.Color   { return color.RGBA{0x7d, 0x85, 0x90, 0xff} }
func faint() color.Color { return color.NRGBA{0x7d, 0x85, 0x90, 0x48} }
func shade() color.Color { return color.NRGBA{0x7d, 0x85, 0x90, 0x24} }

// style is how text looks.
func style(size vg.Length, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color:   ink(),
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		XAlign:  x,
		YAlign:  y,
		Handler: plot.DefaultTextHandler,
	}
}

func bold(s text.Style) text.Style {
	s.Font.Weight = xfont.WeightBold
	return s
}

// svg makes a document of what is drawn. The title is what screen readers tell.
func svg(height vg.Length, title string, drawOn func(draw.Canvas)) ([]byte, error) {
	canvas := vgsvg.New(width, height)
	drawOn(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("draw %q: %w", title, err)
	}
	doc := bytes.Replace(b.Bytes(), []byte("<g "), []byte("<title>"+html.EscapeString(title)+"</title>\n<g "), 1)
	// Who hasn't the font that was measured with gets one with letters as wide.
	doc = bytes.ReplaceAll(doc, []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	return bytes.ReplaceAll(doc, []byte("font-variant:normal;"), nil), nil
}

// drawTitle writes the title at the top and returns what is left of the canvas.
func drawTitle(c draw.Canvas, title string) draw.Canvas {
	c.FillText(bold(style(titleSize, text.XLeft, text.YTop)), vg.Point{X: c.Min.X + 4, Y: c.Max.Y - 3}, title)
	return draw.Crop(c, 0, 0, 0, -22)
}
