package interaction

// Redacted stands in the place of a secret where something is shown to more than those who may answer. Nothing with it is executed.
const Redacted = "[redacted]"
