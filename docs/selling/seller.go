package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

var secret, _ = base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("SIGNING_SECRET"), "whsec_"))

func isGenuine(head http.Header, body []byte) bool {
	timestamp := head.Get("X-Market-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Now().Unix() - seconds; err != nil || age > 300 || age < -300 {
		return false
	}
	digest := hmac.New(sha256.New, secret)
	digest.Write([]byte(head.Get("X-Market-Request-Id") + "." + timestamp + "."))
	digest.Write(body)
	expected := "v1," + base64.StdEncoding.EncodeToString(digest.Sum(nil))
	for _, given := range strings.Fields(head.Get("X-Market-Signature")) {
		if hmac.Equal([]byte(given), []byte(expected)) {
			return true
		}
	}
	return false
}

func main() {
	http.HandleFunc("/", func(response http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		var asked struct{ Text *string }
		if !isGenuine(request.Header, body) {
			http.Error(response, "no valid signature", 401)
		} else if json.Unmarshal(body, &asked) != nil || asked.Text == nil {
			http.Error(response, "no text", 422)
		} else {
			response.Header().Set("Content-Type", "application/json")
			json.NewEncoder(response).Encode(map[string]int{"words": len(strings.Fields(*asked.Text))})
		}
	})
	http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil)
}
