package permission

import (
	"path"
	"slices"
	"strings"
)

// secretNames are the base names that hold secrets by convention, in lower
// case.
var secretNames = []string{
	".env*", "*.env", ".netrc", "_netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd",
	"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*credential*", "*secret*", "*.tfstate", "*.tfvars",
	"*.ovpn", "*token*", "*password*", "shadow",
}

// secretDirs are directories whose whole content counts as secret.
var secretDirs = []string{".ssh", ".aws", ".gnupg", ".kube", ".azure", ".gcloud", ".docker", ".config/gcloud", "secrets", ".secrets"}

var secretGlobs = func() []sequence {
	var out []sequence
	for _, s := range secretNames {
		q, err := parseTextGlob(s)
		if err == nil {
			out = append(out, q)
		}
	}
	return out
}()

// looksSecret reports whether a file's name or directory is one that usually
// holds secrets.
func looksSecret(file string) bool {
	file = foldString(file)
	for _, dir := range secretDirs {
		if strings.Contains(file+"/", "/"+dir+"/") {
			return true
		}
	}
	base := []rune(path.Base(file))
	return slices.ContainsFunc(secretGlobs, func(q sequence) bool { return q.match(base, 0) })
}
