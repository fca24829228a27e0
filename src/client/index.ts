// The entry point of `adit/client` in the npm package.
export { createClient } from '#client/client.ts'
export { ApiError, ArgumentError, UnreachableError } from '#client/errors.ts'
export type { ClientOptions } from '#client/send.ts'
export type { Client, Page, PageRequest } from '#client/types.ts'
