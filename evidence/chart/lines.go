package chart

import (
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Lines is a chart of panels one above the other, over the same x axis.
type Lines struct {
	Title  string
	X      Axis
	Panels []Panel
	Shaded Shade
	Height float64 // in points
}

// An Axis is what can be read off.
type Axis struct {
	Label string // with the unit
	Min   float64
	Max   float64
	Ticks []float64
	Log   bool
}

// A Panel has its own y axis.
type Panel struct {
	Y      Axis
	Series []Series
}

// A Series is a line, or dots. Those of one name have one place in the legend; one without a name has none.
type Series struct {
	Name   string
	Color  color.Color
	X, Y   []float64
	Bold   bool
	Dashed bool
	Dots   bool
}

// A Shade marks a part of the x axis.
type Shade struct {
	From, To float64
	Text     string
}

// SVG draws the chart.
func (l Lines) SVG() ([]byte, error) {
	rows := make([][]*plot.Plot, len(l.Panels))
	for i, p := range l.Panels {
		one, err := l.plot(p, i == len(l.Panels)-1)
		if err != nil {
			return nil, err
		}
		rows[i] = []*plot.Plot{one}
	}
	return svg(vg.Length(l.Height), l.Title, func(c draw.Canvas) {
		c = drawLegend(drawTitle(c, l.Title), l.named())
		tiles := draw.Tiles{Rows: len(rows), Cols: 1, PadY: 10, PadRight: 10, PadLeft: 2, PadTop: 2}
		for i, canvas := range plot.Align(rows, tiles, c) {
			l.drawShade(canvas[0], rows[i][0], i == 0)
			rows[i][0].Draw(canvas[0])
		}
	})
}

func (l Lines) plot(p Panel, last bool) (*plot.Plot, error) {
	one := plot.New()
	one.BackgroundColor = nil
	setAxis(&one.X, l.X, text.XCenter)
	setAxis(&one.Y, p.Y, text.XRight)
	if !last {
		one.X.Label.Text = ""
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal.Color = faint()
	grid.Horizontal.Width = 0.5
	one.Add(grid)
	for _, s := range p.Series {
		drawn, err := s.plotter()
		if err != nil {
			return nil, fmt.Errorf("draw %q of %q: %w", s.Name, l.Title, err)
		}
		one.Add(drawn)
	}
	one.X.Min, one.X.Max, one.Y.Min, one.Y.Max = l.X.Min, l.X.Max, p.Y.Min, p.Y.Max
	return one, nil
}

func setAxis(a *plot.Axis, to Axis, align text.XAlignment) {
	a.Label.Text = to.Label
	a.Label.TextStyle = rotated(style(textSize, text.XCenter, a.Label.TextStyle.YAlign), a.Label.TextStyle.Rotation)
	a.Color, a.Width = ink(), 0.75
	a.Tick.Color, a.Tick.Width = ink(), 0.75
	a.Tick.Label = style(textSize, align, a.Tick.Label.YAlign)
	a.Padding = 0
	if to.Log {
		a.Scale = plot.LogScale{}
	}
	ticks := make(plot.ConstantTicks, len(to.Ticks))
	for i, v := range to.Ticks {
		ticks[i] = plot.Tick{Value: v, Label: fmt.Sprint(v)}
	}
	a.Tick.Marker = ticks
}

func rotated(s text.Style, by float64) text.Style {
	s.Rotation = by
	return s
}

func (s Series) plotter() (plot.Plotter, error) {
	points := make(plotter.XYs, len(s.X))
	for i := range s.X {
		points[i] = plotter.XY{X: s.X[i], Y: s.Y[i]}
	}
	if s.Dots {
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return nil, err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: s.Color, Radius: 3.5, Shape: draw.CircleGlyph{}}
		return dots, nil
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.LineStyle = s.line()
	return line, nil
}

func (s Series) line() draw.LineStyle {
	look := draw.LineStyle{Color: s.Color, Width: 1.25}
	if s.Bold {
		look.Width = 2.25
	}
	if s.Dashed {
		look.Dashes = []vg.Length{4, 3}
	}
	return look
}

// named are the series for the legend.
func (l Lines) named() []Series {
	var all []Series
	for _, p := range l.Panels {
		for _, s := range p.Series {
			if s.Name != "" && !slices.ContainsFunc(all, func(o Series) bool { return o.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	return all
}

// drawShade marks the part, behind the data.
func (l Lines) drawShade(c draw.Canvas, p *plot.Plot, named bool) {
	if l.Shaded.From == l.Shaded.To {
		return
	}
	data := p.DataCanvas(c)
	x := func(v float64) vg.Length { return data.X(p.X.Norm(v)) }
	from, to := x(l.Shaded.From), x(l.Shaded.To)
	c.FillPolygon(shade(), []vg.Point{
		{X: from, Y: data.Min.Y}, {X: to, Y: data.Min.Y}, {X: to, Y: data.Max.Y}, {X: from, Y: data.Max.Y},
	})
	if named {
		c.FillText(style(textSize, text.XCenter, text.YTop), vg.Point{X: (from + to) / 2, Y: data.Max.Y - 3}, l.Shaded.Text)
	}
}

// drawLegend writes the names in rows at the top and returns what is left of the canvas.
func drawLegend(c draw.Canvas, all []Series) draw.Canvas {
	const swatch, gap, row = 18, 14, 14
	words := style(textSize, text.XLeft, text.YCenter)
	x, y := c.Min.X+4, c.Max.Y-row/2
	for _, s := range all {
		long := swatch + 4 + words.Width(s.Name)
		if x+long > c.Max.X {
			x, y = c.Min.X+4, y-row
		}
		if s.Dots {
			c.DrawGlyph(draw.GlyphStyle{Color: s.Color, Radius: 3.5, Shape: draw.CircleGlyph{}}, vg.Point{X: x + swatch/2, Y: y})
		} else {
			c.StrokeLine2(s.line(), x, y, x+swatch, y)
		}
		c.FillText(words, vg.Point{X: x + swatch + 4, Y: y}, s.Name)
		x += long + gap
	}
	return draw.Crop(c, 0, 0, 0, y-row/2-2-c.Max.Y)
}
