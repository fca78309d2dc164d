package permission

import (
	"slices"
	"strings"
)

// netPrograms fetch from and send to elsewhere.
var netPrograms = map[string]usage{
	"curl": {strict: true, negates: true,
		ok: `#01234678aBfgGhiIjklLMnNpqRsSvVZA:C:H:P:r:X:t:u:U:e:m:w:x:y:Y:z:b:d:F: --anyauth --append --basic --cert-status --cert-type=
			--ciphers= --compressed --compressed-ssh --connect-timeout= --connect-to= --continue-at= --cookie= --create-dirs
			--create-file-mode= --crlf --curves= --data= --data-ascii= --data-binary= --data-raw= --data-urlencode= --delegation=
			--digest --disable --disable-eprt --disable-epsv --disallow-username-in-url --dns-interface= --dns-ipv4-addr=
			--dns-ipv6-addr= --dns-servers= --doh-url= --expect100-timeout= --fail --fail-early --fail-with-body --false-start
			--form= --form-escape --form-string= --ftp-account= --ftp-method= --ftp-pasv --ftp-port= --get --globoff
			--happy-eyeballs-timeout-ms= --haproxy-protocol --head --header= --help --http0.9 --http1.0 --http1.1 --http2
			--http2-prior-knowledge --http3 --http3-only --ignore-content-length --include --insecure --interface= --ipv4 --ipv6
			--json= --junk-session-cookies --keepalive-time= --key-type= --krb= --limit-rate= --list-only --local-port= --location
			--location-trusted --login-options= --mail-auth= --mail-from= --mail-rcpt= --manual --max-filesize= --max-redirs=
			--max-time= --metalink --negotiate --netrc --netrc-optional --next --no-alpn --no-buffer --no-clobber --no-keepalive
			--no-npn --no-progress-meter --no-sessionid --noproxy= --ntlm --oauth2-bearer= --parallel --parallel-immediate
			--parallel-max= --pass= --path-as-is --pinnedpubkey= --post301 --post302 --post303 --preproxy= --progress-bar --progress-meter
			--proto= --proto-default= --proto-redir= --proxy= --proxy-anyauth --proxy-basic --proxy-header= --proxy-insecure
			--proxy-user= --proxytunnel --range= --rate= --raw --referer= --remote-time --remove-on-error --request= --request-target=
			--resolve= --retry= --retry-all-errors --retry-connrefused --retry-delay= --retry-max-time= --sasl-authzid= --sasl-ir
			--service-name= --show-error --silent --socks4= --socks4a= --socks5= --socks5-hostname= --speed-limit= --speed-time= --ssl
			--ssl-reqd --sslv2 --sslv3 --styled-output --suppress-connect-headers --tcp-fastopen --tcp-nodelay --telnet-option=
			--tftp-blksize= --time-cond= --tls-max= --tls13-ciphers= --tlsv1 --tlsv1.0 --tlsv1.1 --tlsv1.2 --tlsv1.3 --tr-encoding
			--trace-time --trace-ids --url= --url-query= --use-ascii --user= --user-agent= --verbose --version --write-out= --aws-sigv4= --variable= --expand-url= --skip-existing`,
		reads: `E: --cert= --key= --cacert= --capath= --crlfile= --netrc-file= --proxy-cert= --proxy-key= --proxy-cacert= --etag-compare= --pubkey= --random-file=`,
		sends: `T: --upload-file=`,
		writes: `c:D:JOo: --output= --output-dir= --remote-name --remote-name-all --remote-header-name --cookie-jar= --dump-header=
			--trace= --trace-ascii= --stderr= --libcurl= --etag-save= --hsts= --alt-svc= --ssl-sessions= --xattr`,
		loads: `K:Q: --config= --quote= --engine= --unix-socket= --abstract-unix-socket=`},
	"wget": {strict: true, negates: true,
		ok: `46EFHKLNSVbcdhkmnpqrvxA:B:D:I:Q:R:T:U:X:l:t:w: --version --help --background --debug --quiet --verbose --no-verbose --report-speed=
			--force-html --base= --tries= --retry-connrefused --retry-on-http-error= --no-clobber --netrc --continue --start-pos=
			--progress= --show-progress --timestamping --if-modified-since --use-server-timestamps --server-response --spider
			--timeout= --dns-timeout= --connect-timeout= --read-timeout= --wait= --waitretry= --random-wait --proxy --quota=
			--bind-address= --limit-rate= --dns-cache --restrict-file-names= --ignore-case --inet4-only --inet6-only --prefer-family=
			--user= --password= --ask-password --iri --local-encoding= --remote-encoding= --unlink --directories --force-directories
			--host-directories --protocol-directories --cut-dirs= --http-user= --http-password= --cache --default-page=
			--adjust-extension --ignore-length --header= --compression= --max-redirect= --proxy-user= --proxy-password= --referer=
			--user-agent= --http-keep-alive --cookies --keep-session-cookies --post-data= --method= --body-data= --content-on-error
			--auth-no-challenge --secure-protocol= --https-only --check-certificate? --pinnedpubkey= --ciphers= --hsts --ftp-user=
			--ftp-password= --remove-listing --glob --passive-ftp --recursive --level= --delete-after --convert-links --backup-converted
			--mirror --page-requisites --strict-comments --accept= --reject= --accept-regex= --reject-regex= --regex-type= --domains=
			--exclude-domains= --follow-ftp --follow-tags= --ignore-tags= --span-hosts --relative --include-directories=
			--exclude-directories= --parent --no-config --save-headers`,
		reads: `i: --input-file= --load-cookies= --certificate= --private-key= --ca-certificate= --ca-directory= --crl-file=`,
		sends: `--post-file= --body-file=`,
		writes: `O:o:a:P: --output-document= --output-file= --append-output= --directory-prefix= --save-cookies= --hsts-file= --rejected-log=
			--warc-file= --warc-dedup= --warc-tempdir= --content-disposition --trust-server-names --xattr --backups?`,
		loads: `e: --execute= --config=`, runs: `--use-askpass=`},
}

// curlCheck looks into the values that can name a file.
func curlCheck(r reading, _ command) string {
	for _, o := range r.opts {
		if curlSends(o) {
			return "curl sends the file it is given with " + shown(o.text)
		}
		v := o.value.text
		if (o.name == "w" || o.name == "write-out") && (strings.Contains(v, "output{") || strings.HasPrefix(v, "@") || o.value.hides()) {
			return "curl writes or reads a file with this format"
		}
		if (o.name == "url" || o.name == "expand-url") && anyScheme(v) {
			return "curl makes the scheme of this address itself"
		}
	}
	if slices.ContainsFunc(r.operands, func(o word) bool { return anyScheme(o.text) }) {
		return "curl makes the scheme of this address itself"
	}
	return ""
}

// anyScheme reports whether curl expands the scheme of an address, which may then be that of a file.
func anyScheme(s string) bool {
	scheme, _, ok := strings.Cut(s, ":")
	return ok && strings.ContainsAny(scheme, "{[")
}

// curlSends reports whether the value of a data option names a file, or could.
func curlSends(o option) bool {
	v := o.value.text
	name, part, _ := strings.Cut(v, "=")
	file := string(opaqueMark) + "@<"
	switch o.name {
	case "d", "data", "data-ascii", "data-binary", "json":
		return strings.IndexAny(v, file) == 0 && v != "@-"
	case "data-urlencode", "url-query", "variable":
		return strings.ContainsAny(name, string(opaqueMark)+"@")
	case "H", "header", "proxy-header":
		return strings.IndexAny(v, file[:len(file)-1]) == 0 && v != "@-"
	case "b", "cookie":
		return v != "" && !strings.Contains(v, "=")
	case "F", "form":
		return strings.IndexAny(part, file) == 0 || strings.ContainsRune(name, opaqueMark)
	default:
		return false
	}
}

// sshSafe are ssh's settings that run nothing and name no file.
var sshSafe = set(`addressfamily batchmode bindaddress bindinterface checkhostip ciphers compression connectionattempts connecttimeout
	exitonforwardfailure forwardagent forwardx11 gatewayports hostkeyalgorithms hostname identitiesonly ipqos
	kbdinteractiveauthentication kexalgorithms loglevel macs numberofpasswordprompts passwordauthentication port
	preferredauthentications pubkeyauthentication requesttty sendenv serveralivecountmax serveraliveinterval sessiontype setenv
	stricthostkeychecking tcpkeepalive updatehostkeys user visualhostkey`)

// sshCheck looks at what -o sets.
func sshCheck(r reading, _ command) string {
	for _, o := range r.opts {
		if o.name != "o" {
			continue
		}
		name := strings.FieldsFunc(o.value.text, func(c rune) bool { return c == '=' || c == ' ' || c == '\t' })
		if len(name) == 0 || !sshSafe[foldString(name[0])] {
			return "this setting of ssh can name a program or a file"
		}
	}
	return ""
}

// tarCheck finds archives on another host, for which tar starts a program.
func tarCheck(r reading, _ command) string {
	local := r.has("force-local")
	for _, o := range r.opts {
		host, _, remote := strings.Cut(o.value.text, ":")
		if (o.name == "f" || o.name == "file") && (remote || o.value.hides()) && !strings.Contains(host, "/") && !local {
			return "tar starts a program to reach an archive on another host"
		}
	}
	return ""
}
