//go:build race

package vendortest

// cutStep is how many bytes lie between the places where streams are cut. No place
// adds a race, and the detector makes each cost ten times as much; "make test" also
// runs these tests without it, with every byte.
const cutStep = 13
