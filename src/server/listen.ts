import type { Address } from '#base/setting-values.ts'
import { StartError } from '#server/start-error.ts'

interface Trouble {
  readonly reason: string
  /** What to do beside setting another address; absent where only that helps. */
  readonly remedy?: string
}

const troubles: Readonly<Record<string, Trouble>> = {
  EADDRINUSE: { reason: 'another program uses it already', remedy: 'stop that program' },
  EACCES: {
    reason: 'this user may not open it',
    remedy: 'run as root or with the capability CAP_NET_BIND_SERVICE',
  },
  EADDRNOTAVAIL: { reason: 'this machine does not have that address' },
  ENOTFOUND: { reason: 'that name is not known' },
}

/** Says why a listener could not be opened, which setting to change, and how. */
export function cannotListen(error: unknown, { host, port }: Address, variable: string): StartError {
  const { code = '', message } = error as NodeJS.ErrnoException
  const { reason, remedy } = troubles[code] ?? { reason: message }
  const otherwise = `set ${variable}=HOST:PORT to another one, or ${variable}=off to do without`
  const advice = remedy === undefined ? otherwise : `${remedy}, ${otherwise}`
  return new StartError(`cannot listen on ${host}:${port} (${variable}): ${reason}; ${advice}`)
}

/** The host at which this machine itself reaches a listener; those on all addresses have none of their own. */
export const hostHere = ({ host }: Address): string =>
  host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
