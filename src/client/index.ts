// The face of the package's client: what `import ... from 'adit/client'` finds.
export { createClient } from '#client/client.ts'
export { ApiError, ArgumentError, UnreachableError } from '#client/errors.ts'
export type { ClientOptions } from '#client/send.ts'
export type { Client, Page, PageRequest } from '#client/types.ts'
