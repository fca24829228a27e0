import { flag, line, uint32 } from '#contract/schema.ts'
import { input } from '#contract/shape.ts'

/** One year: the maximum idle time of a session. */
const YEAR = 31_536_000

const cookiePrefix = (fallback: string) =>
  input(
    line({ pattern: '^[A-Za-z0-9.]{0,64}$', default: fallback, refusal: 'cookie_prefix' }),
    'Prefix of the session cookie\'s name; empty means "adit.".',
  )

/** Common fields of the three sign-in modules. */
export const signInFields = (cookieDefault: string) => ({
  options_passthrough: input(flag(false), 'Allow OPTIONS requests without sign-in, as CORS requires.'),
  cookie_prefix: cookiePrefix(cookieDefault),
  inactivity_timeout: input(
    uint32(0, { maximum: YEAR, refusal: 'inactivity' }),
    'Seconds without a request after which a session ends; 0 for never.',
  ),
  maximum_duration: input(uint32(0), 'Seconds after which a session ends in any case; 0 for never.'),
})

/** The modules that require sign-in. Several of a route are alternatives; the first determines the cookie prefix. */
export const signInModules = ['oauth', 'oidc', 'saml'] as const
