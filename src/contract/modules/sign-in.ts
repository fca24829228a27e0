import { flag, line, uint32 } from '#contract/schema.ts'
import { input } from '#contract/shape.ts'

/** One year: the longest that a session may stay idle. */
const YEAR = 31_536_000

const cookiePrefix = (fallback: string) =>
  input(
    line({ pattern: '^[A-Za-z0-9.]{0,64}$', default: fallback, refusal: 'cookie_prefix' }),
    'Prefix of the session cookie\'s name; "adit." when empty.',
  )

/** What the three ways to sign in have in common. */
export const signInFields = (cookieDefault: string) => ({
  options_passthrough: input(flag(false), 'Do not ask OPTIONS requests to sign in, as CORS needs.'),
  cookie_prefix: cookiePrefix(cookieDefault),
  inactivity_timeout: input(
    uint32(0, { maximum: YEAR, refusal: 'inactivity' }),
    'Seconds without a request after which a session ends; 0 for never.',
  ),
  maximum_duration: input(uint32(0), 'Seconds after which a session ends in any case; 0 for never.'),
})

/** The modules of which a route can have only one. */
export const signInModules = ['oauth', 'oidc', 'saml'] as const
