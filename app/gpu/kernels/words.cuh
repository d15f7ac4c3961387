// Bytes that lie beside one another, fetched as whole words: a GPU counts loads as much as bytes.
#ifndef WORDS_CUH
#define WORDS_CUH

#include "portable.cuh"

// The aligned word that holds a byte; for bytes past the last one, the word that holds that.
DEVICE u32 word_with(u64 byte, u64 last) { return *(const u32 *)((byte < last ? byte : last) & ~3ull); }

// 4 * COUNT bytes from an address on, whatever its alignment. Bytes past `last` are some number or other; no word is
// touched that has none of the bytes before.
template <int COUNT>
struct Words {
  u32 word[COUNT];

  METHOD Words from(const u8 *first, const u8 *last) {
    Words words;
    u64 begin = (u64)first & ~3ull;
    u32 bits = 8 * (u32)((u64)first & 3), low = word_with(begin, (u64)last);
    for (int index = 0; index < COUNT; index++) {
      u32 high = word_with(begin + 4 * (index + 1), (u64)last);
      words.word[index] = shifted(low, high, bits);
      low = high;
    }
    return words;
  }
  MEMBER int byte(int index) const { return (word[index >> 2] >> (8 * (index & 3))) & 255; }
  MEMBER int pair(int index) const { return (word[index >> 1] >> (16 * (index & 1))) & 65535; }
};

#endif
