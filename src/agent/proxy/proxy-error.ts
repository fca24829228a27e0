/** A proxy's error, in words that follow its name. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError'
}
