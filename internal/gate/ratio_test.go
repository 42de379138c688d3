package gate

import (
	"math"
	"testing"

	"github.com/matryer/is"
)

func TestRatioRoundsDownWithoutFloats(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		ppm         ratio
		count, want uint64
	}{
		{ppm: 290_000, count: 100, want: 29}, // 28 in float64
		{ppm: 570_000, count: 100, want: 57}, // 56 in float64
		{ppm: 0, count: math.MaxUint64, want: 0},
		{ppm: million, count: 0, want: 0},
		{ppm: million, count: 1, want: 1},
		{ppm: 1, count: million - 1, want: 0},
		{ppm: 1, count: million, want: 1},
		{ppm: million, count: 1 << 63, want: 1 << 63}, // the product has 83 bits
		{ppm: 500_000, count: 1 << 63, want: 1 << 62},
		{ppm: 1, count: 1 << 63, want: 9_223_372_036_854},
		{ppm: million, count: math.MaxUint64, want: math.MaxUint64},
		{ppm: million - 1, count: math.MaxUint64, want: 18_446_725_626_965_477_905},
	} {
		is.New(t).Equal(row.ppm.of(row.count), row.want) // the share is not the exact one, rounded down
	}
}

func TestRatioIsReachedAtEquality(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		ppm         ratio
		part, whole uint64
		want        bool
	}{
		{ppm: 700_000, part: 7, whole: 10, want: true},
		{ppm: 700_000, part: 6, whole: 10, want: false},
		{ppm: 100_000, part: 1, whole: 10, want: true},
		{ppm: 100_000, part: 1, whole: 11, want: false},
		{ppm: 333_333, part: 1, whole: 3, want: true},
		{ppm: 333_334, part: 1, whole: 3, want: false},
		{ppm: 0, part: 0, whole: 10, want: true},
		{ppm: million, part: 9, whole: 10, want: false},
		{ppm: million, part: 10, whole: 10, want: true},
		{ppm: 1, part: 0, whole: 0, want: true},
		{ppm: 500_000, part: 1 << 62, whole: 1 << 63, want: true}, // the products have 83 bits
		{ppm: 500_000, part: 1<<62 - 1, whole: 1 << 63, want: false},
		{ppm: million, part: math.MaxUint64 - 1, whole: math.MaxUint64, want: false},
	} {
		is.New(t).Equal(row.ppm.reached(row.part, row.whole), row.want) // part/whole >= ratio, exactly
	}
}

func TestRatioAboveOnePanics(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(mustRatio(million), ratio(million)) // a whole is a ratio
	defer func() {
		is.Equal(recover(), "gate: a ratio must be at most 1000000 parts per million, got 1000001") // more is not
	}()
	mustRatio(million + 1)
}
