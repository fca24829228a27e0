import type { signInErrors } from '#base/catalog/sign-in.ts'
import { type Hint, RELOAD, SIGN_IN_AGAIN } from '#base/hints/hint.ts'

const ONLINE = 'adit http {port}{name}'

/** Sign-in by OAuth and OpenID Connect. */
export const signInHints: Readonly<Partial<Record<keyof typeof signInErrors, Hint>>> = {
  sign_in_required: {
    title: 'Sign-in required',
    visitor: 'Reload the page: your session may have ended.',
    owner: 'Programs cannot use a sign-in page. Reload the page that made the request.',
  },
  sign_in_state: { title: 'Sign-in not recognised', visitor: SIGN_IN_AGAIN },
  sign_in_browser: { title: 'Sign-in not recognised', visitor: `${SIGN_IN_AGAIN} Cookies must be allowed.` },
  sign_in_route: {
    title: 'Several sign-ins',
    visitor: 'Open the page of the site that you want to use, and sign in there.',
    owner: 'Links to sign in again or out need the id of the route: /auth/logout?route=ID',
  },
  sign_in_changed: { title: 'Sign in again', visitor: SIGN_IN_AGAIN },
  sign_in_refused: { title: 'Not signed in', visitor: SIGN_IN_AGAIN },
  sign_in_provider: {
    title: 'Sign-in failed',
    visitor: RELOAD,
    owner: 'Check the settings of the sign-in module, and that the gateway can reach the provider.',
  },
  sign_in_unverified: {
    title: 'Not signed in',
    visitor: SIGN_IN_AGAIN,
    owner:
      "Check the settings of the sign-in module against those at the provider, and both machines' clocks.",
  },
  sign_in_not_kept: { title: 'Sign-in failed', visitor: RELOAD },
  sign_in_unconfigured: {
    title: 'Sign-in failed',
    visitor: 'Contact the operator of this site.',
    owner: 'Correct the settings of the sign-in module.',
  },
  sign_in_nothing_here: { title: 'Nothing here', visitor: 'Go back to the site that you came from.' },
  sign_in_elsewhere: {
    title: 'Sign-in not recognised',
    visitor: SIGN_IN_AGAIN,
    owner: 'The endpoint must be online, with the same sign-in module, until its users have returned.',
  },
  sign_in_answer_long: {
    title: 'Sign-in failed',
    visitor: 'Contact the operator of this site.',
    owner: 'Request fewer scopes or claims from the provider.',
  },
  sign_in_busy: { title: 'Too busy', visitor: RELOAD },
  sign_in_https: {
    title: 'HTTPS needed',
    visitor: 'Contact the person who gave you the address.',
    owner: 'Open the endpoint for https instead of http:',
    command: `${ONLINE} --scheme https`,
  },
  oauth_email_unverified: {
    title: 'E-mail address not verified',
    visitor: 'Verify the address in the settings of your account there.',
  },
  oauth_not_allowed: {
    title: 'Not allowed',
    visitor: 'Sign in with another account, or ask the operator of this site to allow this one.',
    owner: 'Add the address, its domain, the team or the organisation to the sign-in module of the endpoint.',
  },
  oauth_email_missing: {
    title: 'E-mail address missing',
    visitor: 'Add an e-mail address to your account there, then sign in again.',
  },
  oauth_email_withheld: {
    title: 'E-mail address not shared',
    visitor: 'Sign in again, and allow sharing the address.',
  },
  oauth_scopes_missing: {
    title: 'Permission missing',
    visitor: 'Sign in again, and grant all requested permissions.',
    owner: 'Request fewer scopes, or allow them in the settings of the application at the provider.',
  },
  oauth_denied: {
    title: 'Not signed in',
    visitor: 'Go back to the original page and sign in again.',
  },
  oauth_exchange: {
    title: 'Sign-in failed',
    visitor: 'Go back to the original page and sign in again.',
    owner:
      'Check the client id, the client secret and the callback address of the application at the provider.',
  },
  oauth_provider: {
    title: 'Identity provider error',
    visitor: RELOAD,
    owner: 'The gateway log has the cause.',
  },
}
