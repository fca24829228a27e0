import tls, { rootCertificates } from 'node:tls'
import { pemInput } from '#agent/pem-input.ts'

/** CAs in options: PEM text, the path of a file with it, or `host` for the system's store. */
export const authorities = (given: string): readonly string[] =>
  given === 'host' ? systemAuthorities() : [pemInput(given)]

/** The published package also runs on Node 20, which knows only its bundled roots. */
const knowsSystem = typeof tls.getCACertificates === 'function'

/** Node's own CAs and those of the system. */
const systemAuthorities = (): readonly string[] =>
  knowsSystem ? [...tls.getCACertificates('default'), ...moreAuthorities()] : rootCertificates

let more: readonly string[] | undefined

/** Those of the system that Node does not trust by itself; Node, too, reads them once. */
export function moreAuthorities(): readonly string[] {
  more ??= knowsSystem ? readMore() : []
  return more
}

function readMore(): readonly string[] {
  const own = new Set(tls.getCACertificates('default').map(unwrapped))
  return [...new Set(tls.getCACertificates('system'))].filter(pem => !own.has(unwrapped(pem)))
}

/** Node wraps the lines of its own otherwise. */
const unwrapped = (pem: string): string => pem.replaceAll('\n', '')
