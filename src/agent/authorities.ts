import tls, { rootCertificates } from 'node:tls'
import { pemInput } from '#agent/pem-input.ts'

/** CAs as they are named in options: PEM text, the path of a file with it, or `host` for the store of the system. */
export const authorities = (given: string): readonly string[] =>
  given === 'host' ? systemAuthorities() : [pemInput(given)]

/** The published package runs on Node 20 too, which knows only the roots that it brings. */
export const systemAuthorities = (): readonly string[] =>
  typeof tls.getCACertificates === 'function'
    ? [...new Set([...tls.getCACertificates('default'), ...tls.getCACertificates('system')])]
    : rootCertificates
