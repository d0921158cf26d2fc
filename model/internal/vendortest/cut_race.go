//go:build race

package vendortest

// cutStep is the number of bytes between the positions where streams are cut. More positions find
// no more races, and the detector makes each cost ten times as much; "make test" also runs these
// tests without it, with every byte.
const cutStep = 13
