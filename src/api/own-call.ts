import type { Call, Deps } from '#api/call.ts'

/**
 * What the server does by itself, as the API sees it: without a key, which events tell as the source System. `base` is
 * the address of the API in events.
 */
export const ownCall = (api: Deps, base: string): Call => ({
  ...api,
  principal: { id: api.facts.accountId, role: 'admin', subject: 'adit', keyId: '' },
  base,
  ip: '',
})
