/** Shown when no tunnel was requested. */
export const USAGE = [
  'Welcome to Adit. You are signed in, but requested no tunnel. Request one with -R:',
  '',
  '  ssh -R 80:localhost:8080 GATEWAY http             a web site under a random name',
  '  ssh -R 443:localhost:8080 GATEWAY                 the same with HTTPS',
  '  ssh -R shop:80:localhost:8080 GATEWAY http        under the name "shop"',
  '  ssh -R 0:localhost:22 GATEWAY tcp                 a TCP port',
  '  ssh -R 443:localhost:8443 GATEWAY tls             TLS terminated by your service',
  '',
  'Options after the protocol: --name NAME, --domain DOMAIN, --metadata TEXT, --label NAME=VALUE,',
  '--basic-auth USER:PASSWORD. Press q or Ctrl-C to stop.',
]
