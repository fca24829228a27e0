import type { Columns, Engine, Step, Steps } from '#store/engine.ts'
import { StoreError, type StoreErrorCode } from '#store/store-error.ts'

/** Receives the duration of database work, and every failure. It must not throw. */
export interface StoreObserver {
  took(work: 'read' | 'write', seconds: number): void
  failed(code: StoreErrorCode): void
}

/** The same engine, with timing. */
export function measured(engine: Engine, observer: StoreObserver | undefined): Engine {
  return observer ? new MeasuredEngine(engine, observer) : engine
}

class MeasuredEngine implements Engine {
  readonly dialect: Engine['dialect']
  readonly #engine: Engine
  readonly #observer: StoreObserver

  constructor(engine: Engine, observer: StoreObserver) {
    this.dialect = engine.dialect
    this.#engine = engine
    this.#observer = observer
  }

  get alone(): boolean {
    return this.#engine.alone
  }

  get connections(): number {
    return this.#engine.connections
  }

  share(): void {
    this.#engine.share()
  }

  own(): Promise<void> {
    return this.#engine.own()
  }

  read(step: Step): Promise<readonly Columns[]> {
    // Before the call: SQLite has done its work when it returns.
    const begun = performance.now()
    return this.#watch('read', this.#engine.read(step), begun)
  }

  run<Result>(steps: Steps<Result>): Promise<Result> {
    const begun = performance.now()
    return this.#watch('write', this.#engine.run(steps), begun)
  }

  close(): Promise<void> {
    return this.#engine.close()
  }

  /** The caller gets the engine's own promise, so it waits for nothing that happens here. */
  #watch<Result>(work: 'read' | 'write', done: Promise<Result>, begun: number): Promise<Result> {
    done.then(
      () => this.#observer.took(work, (performance.now() - begun) / 1000),
      (error: unknown) => this.#observer.failed(error instanceof StoreError ? error.code : 'unusable'),
    )
    return done
  }
}
