import type { signInFields } from '#contract/modules/sign-in.ts'
import type { Stored } from '#contract/shape.ts'
import type { SignInConfig } from '#auth/sign-in/sign-in.ts'

type Options = Stored<ReturnType<typeof signInFields>>

/** A record's common sign-in options. */
export const recordConfig = (options: Options, authCheckInterval = 0): SignInConfig => ({
  optionsPassthrough: options.options_passthrough,
  cookiePrefix: options.cookie_prefix,
  inactivityTimeout: options.inactivity_timeout,
  maximumDuration: options.maximum_duration,
  authCheckInterval,
})

/** Agents cannot set them: their sessions last as long as the browser keeps them. */
export const agentConfig: SignInConfig = {
  optionsPassthrough: false,
  cookiePrefix: '',
  inactivityTimeout: 0,
  maximumDuration: 0,
  authCheckInterval: 0,
}
