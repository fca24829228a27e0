// Drives net/http of Go over HTTP/2 through a tunnel; prints a line for each step.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"sync/atomic"
)

func check(step string, ok bool, detail any) {
	if !ok {
		log.Fatalf("%s: %v", step, detail)
	}
	fmt.Println(step)
}

func main() {
	base, authority := os.Args[1], os.Args[2]
	pem, err := os.ReadFile(authority)
	check("reads the authority", err == nil, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2: true,
	}}
	ask := func(ctx context.Context, method, path string, body io.Reader, header http.Header) (*http.Response, []byte, error) {
		request, err := http.NewRequestWithContext(ctx, method, base+path, body)
		if err != nil {
			return nil, nil, err
		}
		for name, values := range header {
			request.Header[name] = values
		}
		response, err := client.Do(request)
		if err != nil {
			return nil, nil, err
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		return response, content, err
	}
	ctx := context.Background()

	response, content, err := ask(ctx, "GET", "/hello", nil, nil)
	check("GET", err == nil && response.ProtoMajor == 2 && string(content) == "hello", err)

	var failed, dialled atomic.Int64
	counted := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{ConnectDone: func(string, string, error) { dialled.Add(1) }})
	var all sync.WaitGroup
	// More than the server allows at a time would open further connections.
	for range 90 {
		all.Go(func() {
			_, content, err := ask(counted, "GET", "/hello", nil, nil)
			if err != nil || string(content) != "hello" {
				failed.Add(1)
			}
		})
	}
	all.Wait()
	check("90 requests at once on the open connection", failed.Load() == 0 && dialled.Load() == 0, fmt.Sprint(failed.Load(), " failed, ", dialled.Load(), " connections"))

	sent := bytes.Repeat([]byte("0123456789abcdef"), 65_536)
	_, content, err = ask(ctx, "POST", "/echo", bytes.NewReader(sent), nil)
	check("POST of 1 MiB with a length", err == nil && bytes.Equal(content, sent), err)
	_, content, err = ask(ctx, "POST", "/echo", io.MultiReader(bytes.NewReader(sent)), nil)
	check("POST of 1 MiB without a length", err == nil && bytes.Equal(content, sent), err)

	_, content, err = ask(ctx, "GET", "/large", nil, nil)
	check("GET of 10 MiB", err == nil && len(content) == 10<<20, err)

	response, content, err = ask(ctx, "HEAD", "/large", nil, nil)
	check("HEAD", err == nil && response.ContentLength == 10<<20 && len(content) == 0, err)

	many := http.Header{}
	for at := range 60 {
		many.Set(fmt.Sprintf("X-Field-%d", at), strings.Repeat("v", 100))
	}
	response, _, err = ask(ctx, "GET", "/fields", nil, many)
	check("60 fields both ways", err == nil && response.Header.Get("X-Seen") == "60" && len(response.Header.Get("X-Back-59")) == 100, err)

	response, _, err = ask(ctx, "GET", "/trailers", nil, nil)
	check("trailers", err == nil && response.Trailer.Get("X-End") == "well", err)

	cancelled, cancel := context.WithCancel(ctx)
	request, _ := http.NewRequestWithContext(cancelled, "GET", base+"/large", nil)
	begun, err := client.Do(request)
	check("begins a download", err == nil, err)
	_, err = io.ReadFull(begun.Body, make([]byte, 100_000))
	check("reads some of it", err == nil, err)
	cancel()
	begun.Body.Close()
	_, content, err = ask(counted, "GET", "/hello", nil, nil)
	check("requests after a cancelled download", err == nil && string(content) == "hello" && dialled.Load() == 0, err)
}
