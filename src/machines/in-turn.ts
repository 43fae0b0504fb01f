/**
 * Works values off one after the other: one that comes in while another is being worked on waits for its turn. It is
 * what RxJS's queue scheduler does, without an action object and four calls for each value.
 */
export function inTurn<T>(work: (value: T) => void): (value: T) => void {
  const waiting: T[] = [];
  let isBusy = false;
  return (value) => {
    waiting.push(value);
    if (isBusy) return;
    isBusy = true;
    try {
      while (waiting.length > 0) work(waiting.shift() as T);
    } finally {
      isBusy = false;
    }
  };
}
