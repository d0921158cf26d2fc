//go:build !race

package vendortest

// cutStep is the number of bytes between the positions where streams are cut.
const cutStep = 1
