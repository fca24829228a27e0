import type { Address } from '#base/setting-values.ts'
import { StartError } from '#server/start-error.ts'

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it already',
  EACCES: 'this user may not open it',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'that name is not known',
}

/** Says why a listener could not be opened, and which setting to change. */
export function cannotListen(error: unknown, { host, port }: Address, variable: string): StartError {
  const { code = '', message } = error as NodeJS.ErrnoException
  return new StartError(`cannot listen on ${host}:${port} (${variable}): ${reasons[code] ?? message}`)
}
