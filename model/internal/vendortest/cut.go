//go:build !race

package vendortest

// cutStep is how many bytes lie between the places where streams are cut.
const cutStep = 1
