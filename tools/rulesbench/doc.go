// Package rulesbench has two general policy engines decide the workload of the permission package's own benchmarks, and
// that package beside them. It is a module of its own, so that what it needs stays out of Holdpoint.
//
// It compares what a decision costs, not what it is worth: casbin and cedar-go are given the text that a rule is held
// against and match it as text. They parse no shell command, follow no path and explain nothing.
package rulesbench
