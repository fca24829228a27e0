import type { signInFields } from '#contract/modules/sign-in.ts'
import type { Kept } from '#contract/shape.ts'
import type { SignInTerms } from '#auth/sign-in/sign-in.ts'

type Options = Kept<ReturnType<typeof signInFields>>

/** A record's common sign-in options. */
export const recordTerms = (options: Options, authCheckInterval = 0): SignInTerms => ({
  optionsPassthrough: options.options_passthrough,
  cookiePrefix: options.cookie_prefix,
  inactivityTimeout: options.inactivity_timeout,
  maximumDuration: options.maximum_duration,
  authCheckInterval,
})

/** Agents cannot set them: their sessions last as long as the browser keeps them. */
export const agentTerms: SignInTerms = {
  optionsPassthrough: false,
  cookiePrefix: '',
  inactivityTimeout: 0,
  maximumDuration: 0,
  authCheckInterval: 0,
}
