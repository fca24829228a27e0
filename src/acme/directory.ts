import { readDirectory, type AcmeDirectory } from '#acme/answers.ts'
import { refusedAnswer } from '#acme/problem.ts'
import type { EgressAnswer } from '#base/egress.ts'

const KEPT_MS = 3_600_000

/** The CA's endpoints, fetched again from time to time; concurrent callers share the result. */
export class DirectoryReader {
  readonly #read: () => Promise<EgressAnswer>
  readonly #scheme: string
  readonly #now: () => number
  #known: Promise<AcmeDirectory> | undefined
  #until = 0

  constructor(read: () => Promise<EgressAnswer>, scheme: string, now: () => number) {
    this.#read = read
    this.#scheme = scheme
    this.#now = now
  }

  get(): Promise<AcmeDirectory> {
    if (this.#known !== undefined && this.#now() < this.#until) return this.#known
    const read = this.#load()
    this.#known = read
    this.#until = this.#now() + KEPT_MS
    read.catch(() => {
      if (this.#known === read) this.#known = undefined
    })
    return read
  }

  async #load(): Promise<AcmeDirectory> {
    const answer = await this.#read()
    if (answer.status !== 200) throw refusedAnswer(answer, this.#now())
    return readDirectory(jsonOf(answer), this.#scheme)
  }
}

/** The JSON of a response; anything else is empty. */
export function jsonOf({ body }: Pick<EgressAnswer, 'body'>): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}
