import type { Reply } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'
import { pageReply } from '#http/pages.ts'
import { returnTarget } from '#auth/sign-in/flow.ts'
import { CHOOSER_PATH, parametersOf, pathAt } from '#auth/sign-in/paths.ts'
import type { Seal } from '#auth/sign-in/seal.ts'
import type { SignInOffer } from '#auth/sign-in/sign-in.ts'

/** A page may stay open for long before the user chooses. */
const CHOICE_MS = 24 * 60 * 60_000

/** How a sign-in is to be started. */
export interface Start {
  /** Path and query on the origin of the endpoint. */
  readonly returnTo: string
  /** The provider must prompt again. */
  readonly again: boolean
  /** With `again`: the user wants another account. */
  readonly chooseAccount?: boolean
}

/** Where the chooser is. */
export interface ChooserRealm {
  readonly seal: Seal
  readonly realmId: string
  readonly origin: string
}

const purpose = ({ realmId, origin }: ChooserRealm): string => `sign-in choice ${realmId} ${origin}`

/**
 * The URL of the page on which users choose a provider. The page to return to is sealed, so that no link to the chooser
 * can name another one.
 */
export function chooserUrl(realm: ChooserRealm, start: Start): string {
  const to = realm.seal.seal(purpose(realm), start, CHOICE_MS)
  return realm.origin + pathAt(CHOOSER_PATH, realm.realmId, { to })
}

/**
 * For pages that reject an account. A session that the browser has lasts until the other account is signed in, so that a
 * link from elsewhere cannot end it.
 */
export const otherAccountLink = (realm: ChooserRealm, returnTo: string): { href: string; text: string } => ({
  href: chooserUrl(realm, { returnTo, again: true, chooseAccount: true }),
  text: 'Sign in with another account',
})

/** What the URL of the chooser requests. */
interface Choice extends Start {
  /** The key of the chosen offer; empty before the choice. */
  readonly key: string
  /** The sealed text of the URL. */
  readonly to: string
}

/** An expired or invalid link redirects to "/". */
export function choiceIn(realm: ChooserRealm, target: string): Choice {
  const parameters = parametersOf(target)
  const to = parameters.get('to') ?? ''
  const start = realm.seal.open(purpose(realm), to) as Start | undefined
  return {
    returnTo: returnTarget(start?.returnTo ?? '/'),
    again: start?.again === true,
    chooseAccount: start?.chooseAccount === true,
    key: parameters.get('with') ?? '',
    to,
  }
}

/** Lets the user choose: plain links, so that it needs no script. */
export const chooserReply = (
  head: RequestHead,
  { realmId, to, offers }: { realmId: string; to: string; offers: readonly SignInOffer[] },
): Reply =>
  pageReply(head, {
    status: 200,
    code: '',
    title: 'Sign in',
    text: `${head.host} requires sign-in, with one of several accounts.`,
    visitor: 'Choose the account to sign in with:',
    owner: undefined,
    command: undefined,
    links: offers.map(({ key, title }) => ({
      href: pathAt(CHOOSER_PATH, realmId, { to, with: key }),
      text: `Sign in with ${title}`,
    })),
  })
