import type { Call, Deps } from '#api/call.ts'

/**
 * Actions of the server itself, as the API sees them: without a key, in events as the source System. `base` is the API
 * URL in events.
 */
export const systemCall = (api: Deps, base: string): Call => ({
  ...api,
  principal: { id: api.info.accountId, role: 'admin', subject: 'adit', keyId: '' },
  base,
  ip: '',
})
