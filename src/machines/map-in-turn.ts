import { Observable, type OperatorFunction } from "rxjs";

/**
 * RxJS's `map`, but a value that comes in while another one is being worked on waits for its turn. It is what
 * `observeOn(queueScheduler)` before a `map` does, without that scheduler's action for each value.
 */
export function mapInTurn<T, R>(project: (value: T) => R): OperatorFunction<T, R> {
  return (source) =>
    new Observable((subscriber) => {
      const waiting: T[] = [];
      let isBusy = false;

      function workOff(): void {
        isBusy = true;
        try {
          while (waiting.length > 0 && !subscriber.closed) subscriber.next(project(waiting.shift() as T));
        } catch (error) {
          subscriber.error(error);
        } finally {
          isBusy = false;
        }
      }

      return source.subscribe({
        next(value) {
          waiting.push(value);
          if (!isBusy) workOff();
        },
        error: (error) => subscriber.error(error),
        complete: () => subscriber.complete(),
      });
    });
}
