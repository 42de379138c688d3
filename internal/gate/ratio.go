package gate

import (
	"math/bits"
	"strconv"
)

// million is the ratio of a whole: ratios are in parts per million.
const million = 1_000_000

// ratio is a share from 0 to 1 in parts per million. Not a float, because 0.29 × 100 rounds down to 28 there. Its
// products have 128 bits, so no count is too large for it.
type ratio uint64

// mustRatio panics unless ppm is a share from 0 to 1. Above it, the product in of could exceed what it divides.
func mustRatio(ppm uint64) ratio {
	if ppm > million {
		//nolint:forbidigo // validated where it has a name
		panic("gate: a ratio must be at most 1000000 parts per million, got " + strconv.FormatUint(ppm, 10))
	}
	return ratio(ppm)
}

// of returns the share of count, rounded down.
func (r ratio) of(count uint64) uint64 {
	high, low := bits.Mul64(count, uint64(r))
	share, _ := bits.Div64(high, low, million) // cannot overflow: the share is at most count
	return share
}

// reached reports whether part of whole is at least the ratio. None of nothing reaches every ratio.
func (r ratio) reached(part, whole uint64) bool {
	haveHigh, haveLow := bits.Mul64(part, million)
	needHigh, needLow := bits.Mul64(whole, uint64(r))
	return haveHigh > needHigh || haveHigh == needHigh && haveLow >= needLow
}
