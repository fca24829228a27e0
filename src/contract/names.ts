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

/** A sentence with its abbreviations in capitals: "a https edge" becomes "an HTTPS edge". */
export const toSentence = (sentence: string): string =>
  sentence
    .replace(/\b(api|https?|ip|ssh|tcp|tls)\b/g, word => abbreviations[word] ?? word)
    .replace(/\baddr(s?)\b/g, (_, several: string) => (several ? 'addresses' : 'address'))
    .replace(/\ba (?=HTTP|SSH)/g, 'an ')
