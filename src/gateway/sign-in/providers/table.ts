import { amazon } from '#gateway/sign-in/providers/amazon.ts'
import { facebook } from '#gateway/sign-in/providers/facebook.ts'
import { github } from '#gateway/sign-in/providers/github.ts'
import { gitlab } from '#gateway/sign-in/providers/gitlab.ts'
import { google } from '#gateway/sign-in/providers/google.ts'
import { linkedin } from '#gateway/sign-in/providers/linkedin.ts'
import { microsoft } from '#gateway/sign-in/providers/microsoft.ts'
import type { Provider, ProviderName } from '#gateway/sign-in/providers/provider.ts'
import type { OAuthSetup } from '#gateway/sign-in/providers/setup.ts'
import { twitch } from '#gateway/sign-in/providers/twitch.ts'

/** Every provider, at the addresses that the operator has set. */
export const providersOf = (
  setup: Pick<OAuthSetup, 'githubUrl' | 'gitlabUrl'>,
): Readonly<Record<ProviderName, Provider>> => ({
  amazon,
  facebook,
  github: github(setup.githubUrl),
  gitlab: gitlab(setup.gitlabUrl),
  google,
  linkedin,
  microsoft,
  twitch,
})
