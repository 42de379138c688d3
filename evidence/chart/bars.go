package chart

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bars is a chart of horizontal bars: a row for each thing that is compared, a column for each measure. Each bar tells
// its value, so there is no axis.
type Bars struct {
	Title   string
	Rows    []string
	Colors  []color.Color // one a row
	Columns []Column
}

// A Column is a measure, with a value for each row.
type Column struct {
	Title  string // with the unit
	Max    float64
	Values []float64
	Format string // of a value
}

// SVG draws the chart.
func (b Bars) SVG() ([]byte, error) {
	const row, head = 18, 46
	height := vg.Length(head + row*len(b.Rows) + 6)
	return svg(height, b.Title, func(c draw.Canvas) {
		c = drawTitle(c, b.Title)
		words := style(textSize, text.XLeft, text.YCenter)
		var names vg.Length
		for _, name := range b.Rows {
			names = max(names, words.Width(name))
		}
		y := func(i int) vg.Length { return c.Max.Y - vg.Length(24+row*i) - row/2 }
		for i, name := range b.Rows {
			c.FillText(words, vg.Point{X: c.Min.X + 4, Y: y(i)}, name)
		}
		left := c.Min.X + names + 16
		wide := (c.Max.X - left) / vg.Length(len(b.Columns))
		for i, column := range b.Columns {
			column.draw(c, left+vg.Length(i)*wide, wide, y, b.Colors)
		}
	})
}

func (o Column) draw(c draw.Canvas, x, wide vg.Length, y func(int) vg.Length, colors []color.Color) {
	const thick, value = 11, 40
	words := style(textSize, text.XLeft, text.YCenter)
	c.FillText(words, vg.Point{X: x, Y: c.Max.Y - 10}, o.Title)
	for i, v := range o.Values {
		low, high := y(i)-thick/2, y(i)+thick/2
		end := x + (wide-value)*vg.Length(v/o.Max)
		c.FillPolygon(colors[i], []vg.Point{{X: x, Y: low}, {X: end, Y: low}, {X: end, Y: high}, {X: x, Y: high}})
		c.FillText(words, vg.Point{X: end + 4, Y: y(i)}, fmt.Sprintf(o.Format, v))
	}
}
