// A service that says which resource several Go programs would take its path for.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
)

func main() {
	mux := http.NewServeMux()
	mux.HandleFunc("/{rest...}", func(w http.ResponseWriter, r *http.Request) {
		readings := map[string]any{
			"go: not decoded":         split(strings.SplitN(r.RequestURI, "?", 2)[0]),
			"go: net/http, cleaned":   split(path.Clean(r.URL.Path)),
			"go: the mux's wildcard":  split("/" + r.PathValue("rest")),
			"go: EscapedPath, merged": split(path.Clean(r.URL.EscapedPath())),
		}
		if twice, err := url.PathUnescape(r.URL.Path); err == nil {
			readings["go: decoded twice"] = split(path.Clean("/" + twice))
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(readings)
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, mux))
}

func split(path string) []string {
	return strings.Split(path, "/")[1:]
}
