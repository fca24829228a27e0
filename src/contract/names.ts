const abbreviations: Readonly<Record<string, string>> = {
  acl: 'ACL',
  acme: 'ACME',
  addr: 'address',
  addrs: 'addresses',
  api: 'API',
  cidr: 'CIDR',
  cname: 'CNAME',
  dns: 'DNS',
  github: 'GitHub',
  gitlab: 'GitLab',
  hostport: 'host port',
  hostports: 'host ports',
  http: 'HTTP',
  https: 'HTTPS',
  id: 'ID',
  ip: 'IP',
  ips: 'IPs',
  linkedin: 'LinkedIn',
  msg: 'message',
  oauth: 'OAuth',
  oidc: 'OIDC',
  os: 'OS',
  otlp: 'OTLP',
  pem: 'PEM',
  proto: 'protocol',
  saml: 'SAML',
  ssh: 'SSH',
  tcp: 'TCP',
  tls: 'TLS',
  ttl: 'TTL',
  url: 'URL',
  websocket: 'WebSocket',
}

/** `tunnel_group_backends` becomes "tunnel group backends", for the middle of a sentence. */
export const wordsOf = (name: string): string =>
  name
    .split('_')
    .map(word => abbreviations[word] ?? word)
    .join(' ')

/** `tunnel_group_backends` becomes "Tunnel group backends". */
export function titleOf(name: string): string {
  const text = wordsOf(name)
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** A sentence with its abbreviations in capitals: "a https edge" becomes "an HTTPS edge". */
export const toSentence = (sentence: string): string =>
  sentence
    .replace(/\b(api|https?|ip|ssh|tcp|tls)\b/g, word => abbreviations[word] ?? word)
    .replace(/\baddr(s?)\b/g, (_, several: string) => (several ? 'addresses' : 'address'))
    .replace(/\ba (?=HTTP|SSH)/g, 'an ')
