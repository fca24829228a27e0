import { amazon } from '#auth/providers/amazon.ts'
import { facebook } from '#auth/providers/facebook.ts'
import { github } from '#auth/providers/github.ts'
import { gitlab } from '#auth/providers/gitlab.ts'
import { google } from '#auth/providers/google.ts'
import { linkedin } from '#auth/providers/linkedin.ts'
import { microsoft } from '#auth/providers/microsoft.ts'
import type { OAuthProvider, ProviderName } from '#auth/providers/provider.ts'
import type { OAuthSetup } from '#auth/providers/setup.ts'
import { twitch } from '#auth/providers/twitch.ts'

/** Every provider, with the operator's URLs. */
export const providersOf = (
  setup: Pick<OAuthSetup, 'githubUrl' | 'gitlabUrl'>,
): Readonly<Record<ProviderName, OAuthProvider>> => ({
  amazon,
  facebook,
  github: github(setup.githubUrl),
  gitlab: gitlab(setup.gitlabUrl),
  google,
  linkedin,
  microsoft,
  twitch,
})
