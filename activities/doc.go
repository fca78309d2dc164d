// Package activities is the side of a run that touches the world: it calls the model, decides permission, runs
// tools, and writes the record. One struct, Activities, holds small interfaces; each concern has its file
// (model, tool, decide, record). Everything here may run twice and may die between any two lines.
//
// Start at Activities and at Store, the data plane as it is needed here.
package activities
