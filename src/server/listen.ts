import type { HttpServer } from '#api/http-server.ts'
import type { Address } from '#base/settings.ts'
import { StartError } from '#server/start-error.ts'

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it already',
  EACCES: 'this user may not open it',
  EADDRNOTAVAIL: 'this machine does not have that address',
  ENOTFOUND: 'that name is not known',
}

/** Opens a listener and says where it is reached; a refusal names the setting to change. */
export async function listen(server: HttpServer, address: Address, variable: string): Promise<string> {
  try {
    return await server.listen(address)
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const where = `${address.host}:${address.port}`
    throw new StartError(`cannot listen on ${where} (${variable}): ${reasons[code] ?? message}`)
  }
}
