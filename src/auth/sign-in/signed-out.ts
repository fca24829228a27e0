import type { Reply } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'
import { pageReply } from '#http/pages.ts'
import { LOG_IN_PATH, pathAt } from '#auth/sign-in/paths.ts'

/** Confirms the sign-out here; the session at the provider is not affected. `realmId`: where to sign in again. */
export const signedOutReply = (head: RequestHead, realmId?: string): Reply =>
  pageReply(head, {
    status: 200,
    code: '',
    title: 'Signed out',
    text: `You are signed out of ${head.host}.`,
    visitor: 'Close this page, or sign in again. At the identity provider itself you may still be signed in.',
    owner: undefined,
    command: undefined,
    ...(realmId !== undefined && {
      links: [{ href: pathAt(LOG_IN_PATH, realmId), text: 'Sign in again' }],
    }),
  })
