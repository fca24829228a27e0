const abbreviations: Readonly<Record<string, string>> = {
  addrs: 'addresses',
  api: 'API',
  http: 'HTTP',
  https: 'HTTPS',
  ip: 'IP',
  oauth: 'OAuth',
  oidc: 'OIDC',
  saml: 'SAML',
  ssh: 'SSH',
  tcp: 'TCP',
  tls: 'TLS',
  websocket: 'WebSocket',
}

/** `http_response_backends` becomes "HTTP response backends". */
export function titleOf(name: string): string {
  const text = name
    .split('_')
    .map(word => abbreviations[word] ?? word)
    .join(' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
