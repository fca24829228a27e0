import tls, { rootCertificates } from 'node:tls'
import { pemInput } from '#agent/pem-input.ts'

/** CAs in options: PEM text, the path of a file with it, or `host` for the system's store. */
export const authorities = (given: string): readonly string[] =>
  given === 'host' ? systemAuthorities() : [pemInput(given)]

/** The published package also runs on Node 20, which knows only its bundled roots. */
export const systemAuthorities = (): readonly string[] =>
  typeof tls.getCACertificates === 'function'
    ? [...new Set([...tls.getCACertificates('default'), ...tls.getCACertificates('system')])]
    : rootCertificates
