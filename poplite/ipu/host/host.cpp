// The host program of poplite: builds the graph of its tables with Poplar, and runs it on command.
//
//   host TABLES CODELETS MAPPING [--device hardware|model] [--executable FILE]
//
// The executable that Poplar compiles for hardware is saved in FILE; if FILE exists, it is loaded.
//
// Commands are read from file descriptor 3, one per line, and replies are written to 4; stdout and
// stderr are left to the SDK. Data are in the file MAPPING, which both sides map.
//
//   start                        ready <seconds to build> <seconds to compile>
//   write HANDLE, read HANDLE    ok
//   run PROGRAM                  fetch STREAM, sink STREAM or call FUNCTION, each answered by ok or
//                                stop; then ok <cycles> <seconds>
//   reset                        ok, once arithmetic has its initial modes again
//   quit, or the end of commands
//
// Any command may be answered by `error CLASS BYTES` and that many bytes of text; the next command
// is handled as usual. The program is the same for every graph: poplite/ipu/tables writes its input.
// TABLES has a checksum, which is compared first; numbers in a table are checked where they are
// used, so that wrong numbers with a correct checksum are also refused.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <poplar/CSRFunctions.hpp>
#include <poplar/CycleCount.hpp>
#include <poplar/DeviceManager.hpp>
#include <poplar/Engine.hpp>
#include <poplar/Executable.hpp>
#include <poplar/Graph.hpp>
#include <poplar/HostFunctionCallback.hpp>
#include <poplar/IPUModel.hpp>
#include <poplar/Program.hpp>
#include <poplar/exceptions.hpp>

namespace {

using Integer = long long;

// ---- Files ----------------------------------------------------------------------------------

// A file in memory; writes to a shared file are visible to the other process.
class Mapped {
public:
  Mapped(const std::string &path, bool shared) {
    const int file = open(path.c_str(), (shared ? O_RDWR : O_RDONLY) | O_NONBLOCK); // of a pipe
    struct stat found;
    if (file < 0 || fstat(file, &found) != 0 || !S_ISREG(found.st_mode))
      throw std::runtime_error("cannot read " + path);
    size = static_cast<std::size_t>(found.st_size);
    const int access = shared ? PROT_READ | PROT_WRITE : PROT_READ;
    void *at = mmap(nullptr, size, access, shared ? MAP_SHARED : MAP_PRIVATE, file, 0);
    close(file);
    if (at == MAP_FAILED) throw std::runtime_error("cannot map " + path);
    data = static_cast<unsigned char *>(at);
  }
  Mapped(const Mapped &) = delete;

  unsigned char *data;
  std::size_t size;
};

// ---- Tables ---------------------------------------------------------------------------------

// Refuses invalid tables.
void check(bool is_right) {
  if (!is_right) throw std::out_of_range("the tables are damaged");
}

// A count that is not negative.
std::size_t count_of(Integer number) {
  check(number >= 0);
  return static_cast<std::size_t>(number);
}

// Whether `count` items of a given size fit in `room` bytes, beginning at byte `at`.
bool are_within(Integer at, Integer count, std::size_t bytes, std::size_t room) {
  return at >= 0 && count >= 0 && static_cast<std::size_t>(at) <= room &&
         static_cast<std::size_t>(count) <= (room - static_cast<std::size_t>(at)) / bytes;
}

// CRC-32 of bytes, as in zip files, continued from that of the preceding bytes.
std::uint32_t checksum(const unsigned char *data, std::size_t size, std::uint32_t before = 0) {
  static const std::vector<std::uint32_t> table = [] {
    std::vector<std::uint32_t> made(256);
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      made[byte] = byte;
      for (int bit = 0; bit < 8; ++bit)
        made[byte] = made[byte] & 1 ? 0xEDB88320U ^ made[byte] >> 1 : made[byte] >> 1;
    }
    return made;
  }();
  std::uint32_t sum = ~before;
  for (std::size_t k = 0; k < size; ++k) sum = table[(sum ^ data[k]) & 0xFF] ^ sum >> 8;
  return ~sum;
}

// Integers of one size.
struct Column {
  const unsigned char *data = nullptr;
  char type = 'B';
  std::size_t size = 0;

  Integer operator[](Integer index) const { return at(static_cast<std::size_t>(index)); }
  Integer at(std::size_t index) const {
    check(index < size);
    switch (type) {
    case 'B': return data[index];
    case 'b': return as<std::int8_t>(index);
    case 'H': return as<std::uint16_t>(index);
    case 'h': return as<std::int16_t>(index);
    case 'I': return as<std::uint32_t>(index);
    case 'i': return as<std::int32_t>(index);
    default: return as<std::int64_t>(index);
    }
  }

  // The bytes of a number; 0 for an unknown type.
  static std::size_t width(char type) {
    switch (type) {
    case 'B':
    case 'b': return 1;
    case 'H':
    case 'h': return 2;
    case 'I':
    case 'i': return 4;
    case 'q': return 8;
    default: return 0;
    }
  }

private:
  template <class T> T as(std::size_t index) const {
    T value;
    std::memcpy(&value, data + index * sizeof(T), sizeof(T));
    return value;
  }
};

// The columns of a file, by name.
class Tables {
public:
  explicit Tables(const std::string &path) : file(path, false) {
    if (file.size < 64 || std::memcmp(file.data, "poplite", 8) != 0)
      throw std::runtime_error(path + " holds no tables");
    if (word(8) != 2) throw std::runtime_error(path + " is of another version than 2");
    // The checksum covers all bytes except its own eight.
    if (word(24) != checksum(file.data + 32, file.size - 32, checksum(file.data, 24)))
      throw std::runtime_error(path + " is damaged: its checksum is another one");
    check(word(16) <= (file.size - 64) / 64);
    for (std::uint64_t row = 0; row < word(16); ++row) {
      const std::size_t at = 64 + row * 64;
      const char *name = reinterpret_cast<const char *>(file.data + at);
      const char type = static_cast<char>(file.data[at + 40]);
      const std::uint64_t begin = word(at + 48), size = word(at + 56), width = Column::width(type);
      check(width > 0 && begin <= file.size && size <= (file.size - begin) / width);
      columns[std::string(name, strnlen(name, 40))] = Column{file.data + begin, type, size};
    }
    largest = (*this)["machine"][3];
  }

  const Column &operator[](const std::string &name) const {
    const auto found = columns.find(name);
    if (found == columns.end()) throw std::runtime_error("the tables have no column " + name);
    return found->second;
  }

  std::string text(Integer number) const {
    const auto [begin, end] = part((*this)["text.end"], number);
    const Column &all = (*this)["text.bytes"];
    check(are_within(begin, end - begin, 1, all.size));
    const auto *bytes = reinterpret_cast<const char *>(all.data);
    return std::string(bytes + begin, bytes + end);
  }

  // A count of items, which is at most `largest` in any place of a graph.
  std::size_t count(Integer number) const {
    check(number <= largest);
    return count_of(number);
  }

  Integer largest = 0;

  // Begin and end of part `number`, from a column of ends.
  static std::pair<Integer, Integer> part(const Column &ends, Integer number) {
    const Integer begin = number ? ends[number - 1] : 0, end = ends[number];
    check(begin >= 0 && begin <= end && end < std::numeric_limits<Integer>::max() / 2);
    return {begin, end};
  }

private:
  std::uint64_t word(std::size_t at) const {
    std::uint64_t value;
    std::memcpy(&value, file.data + at, sizeof value);
    return value;
  }

  Mapped file;
  std::map<std::string, Column> columns;
};

// An arithmetic progression in several digits, or a list: number `i` is first + the digits of i,
// each times its stride; or first + list[i].
struct Series {
  struct Digit {
    Integer extent, stride;
  };
  Integer first = 0;
  bool empty = false; // no numbers: a digit has extent 0
  std::vector<Digit> digits;
  std::optional<Column> list;

  Integer operator[](Integer index) const {
    if (list) return sum(first, (*list)[index], 1);
    check(index >= 0 && !empty);
    Integer value = first;
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
      value = sum(value, index % digit->extent, digit->stride);
      index /= digit->extent;
    }
    return value;
  }

private:
  // value + factor * stride; numbers of damaged tables wrap around.
  static Integer sum(Integer value, Integer factor, Integer stride) {
    using Word = std::uint64_t;
    return static_cast<Integer>(static_cast<Word>(value) + static_cast<Word>(factor) * static_cast<Word>(stride));
  }
};

Series series_of(const Tables &tables, Integer number) {
  Series series;
  series.first = tables["series.first"][number];
  const auto [begin, end] = Tables::part(tables["series.digits_end"], number);
  for (Integer k = begin; k < end; ++k) {
    series.digits.push_back({tables["digit.extent"][k], tables["digit.stride"][k]});
    check(series.digits.back().extent >= 0);
    series.empty = series.empty || series.digits.back().extent == 0;
  }
  const Integer list = tables["series.list"][number];
  if (list >= 0) {
    const Integer width = tables["list.width"][list], from = tables["list.begin"][list];
    const Column &bytes = tables["list.bytes"];
    const char type = width == 1 ? 'B' : width == 2 ? 'H' : width == 4 ? 'I' : 'q';
    const std::size_t size = Column::width(type);
    check(static_cast<Integer>(size) == width && are_within(from, 0, 1, bytes.size));
    const auto room = (bytes.size - static_cast<std::size_t>(from)) / size;
    series.list = Column{bytes.data + from, type, room};
  }
  return series;
}

// ---- Element types --------------------------------------------------------------------------

const poplar::Type &type_of(Integer number) {
  static const poplar::Type types[] = {poplar::BOOL,        poplar::CHAR,
                                       poplar::SIGNED_CHAR, poplar::UNSIGNED_CHAR,
                                       poplar::SHORT,       poplar::UNSIGNED_SHORT,
                                       poplar::INT,         poplar::UNSIGNED_INT,
                                       poplar::LONGLONG,    poplar::UNSIGNED_LONGLONG,
                                       poplar::HALF,        poplar::FLOAT};
  check(number >= 0 && number < 12);
  return types[number];
}

constexpr Integer HALF = 10;

// The size of an element in bytes.
std::size_t size_of(Integer number) {
  static constexpr std::size_t sizes[] = {1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 4};
  check(number >= 0 && number < 12);
  return sizes[number];
}

// Calls `use` with a null pointer to the C++ type of an element, for a half that of its bits.
template <class F> auto with_type(Integer number, F use) {
  switch (number) {
  case 0: return use(static_cast<bool *>(nullptr));
  case 1: return use(static_cast<char *>(nullptr));
  case 2: return use(static_cast<signed char *>(nullptr));
  case 3: return use(static_cast<unsigned char *>(nullptr));
  case 4: return use(static_cast<short *>(nullptr));
  case 5: return use(static_cast<unsigned short *>(nullptr));
  case 6: return use(static_cast<int *>(nullptr));
  case 7: return use(static_cast<unsigned *>(nullptr));
  case 8: return use(static_cast<long long *>(nullptr));
  case 9: return use(static_cast<unsigned long long *>(nullptr));
  case HALF: return use(static_cast<std::uint16_t *>(nullptr));
  default: return use(static_cast<float *>(nullptr));
  }
}

// ---- The graph ------------------------------------------------------------------------------

class Builder {
public:
  // The form of a field's data, as in poplite/ipu/tables/tables.py.
  enum Kind { SCALAR_EDGE, VECTOR_EDGE, LIST_OF_EDGES, ONE_VALUE, SERIES, VALUES, VECTORS };

  Builder(const Tables &tables, poplar::Graph &graph, bool is_model)
      : tables(tables), graph(graph), is_model(is_model) {
    for (std::size_t number = 0; number < tables["variable.name"].size; ++number)
      add_variable(static_cast<Integer>(number));
    for (std::size_t number = 0; number < tables["stream.name"].size; ++number)
      add_stream(static_cast<Integer>(number));
    for (std::size_t number = 0; number < tables["cs.name"].size; ++number)
      add_compute_set(static_cast<Integer>(number));
    for (std::size_t number = 0; number < tables["called.name"].size; ++number)
      add_called(static_cast<Integer>(number));
    for (std::size_t number = 0; number < tables["handle.name"].size; ++number)
      add_handle(static_cast<Integer>(number));
  }

  // A tensor of the tables, with one dimension.
  poplar::Tensor tensor(Integer number) { return Edges(*this, number).tensor(0); }

  poplar::Tensor scalar(Integer number) { return tensor(number).reshape({}); }

  std::vector<poplar::ComputeSet> compute_sets;
  std::vector<poplar::DataStream> streams;
  std::vector<poplar::HostFunction> called;

private:
  // The edges of one field, or a tensor.
  struct Edges {
    Edges(Builder &builder, Integer number)
        : builder(builder), type(type_of(builder.tables["edges.type"][number])),
          rows(column("rows", number)), length(column("length", number)) {
      if (has("start", number)) start = column("start", number);
      if (has("inner", number)) inner = column("inner", number);
      if (has("first", number)) {
        first = column("first", number);
        begin = column("begin", number);
        size = column("size", number);
      } else {
        check(start.has_value());
      }
    }

    poplar::Tensor tensor(Integer edge) {
      const Integer count = length[edge];
      check(count >= 0 && count < left);
      left -= count + 1;
      if (count == 0) return builder.graph.addVariable(type, {0}, "empty");
      std::vector<poplar::Tensor> parts;
      if (first) {
        const Integer from = (*first)[edge], end = (*first)[edge + 1];
        check(from >= 0 && from < end && end - from <= count);
        Integer missing = count;
        for (Integer k = from; k < end;) {
          const Integer singles = even_singles(k, end);
          const bool is_stretch = singles > 1;
          const Integer step = is_stretch ? (*begin)[k + 1] - (*begin)[k] : 1;
          const Integer elements = is_stretch ? singles : (*size)[k];
          check(elements > 0 && elements <= missing);
          missing -= elements;
          parts.push_back(piece((*begin)[k], elements, step));
          k += singles;
        }
        check(missing == 0);
      } else if (!inner) {
        parts.push_back(piece((*start)[edge], count, 1));
      } else if (inner->digits.empty()) {
        parts.push_back(piece((*start)[edge], 1, 1));
      } else {
        const auto [extent, stride] = inner->digits.back();
        check(extent > 0 && count % extent == 0);
        for (Integer k = 0; k < count; k += extent)
          parts.push_back(piece((*start)[edge] + (*inner)[k], extent, stride));
      }
      return parts.size() == 1 ? parts[0] : poplar::concat(parts);
    }

    // Elements of one variable, in the type in which they are read.
    poplar::Tensor piece(Integer address, Integer count, Integer stride) const {
      const poplar::Tensor found = builder.piece(address, count, stride);
      return found.elementType() == type ? found : found.reinterpret(type);
    }

    // The number of pieces, beginning with a given one, that are evenly spaced single elements of
    // one variable.
    Integer even_singles(Integer from, Integer end) const {
      Integer next = from + 1;
      const auto is_single = [&](Integer k) {
        return k < end && (*size)[k] == 1 && builder.owner((*begin)[k]) == builder.owner((*begin)[from]);
      };
      if (!is_single(from) || !is_single(next)) return 1;
      const Integer step = (*begin)[next] - (*begin)[from];
      while (is_single(next) && (*begin)[next] - (*begin)[next - 1] == step) ++next;
      return next - from;
    }

    Builder &builder;
    const poplar::Type &type;
    Series rows, length;
    std::optional<Series> start, inner, first, begin, size;
    Integer left = builder.tables.largest + 1; // elements, and one for each edge

  private:
    Series column(const char *name, Integer number) const {
      return series_of(builder.tables, builder.tables[std::string("edges.") + name][number]);
    }
    bool has(const char *name, Integer number) const {
      return builder.tables[std::string("edges.") + name][number] >= 0;
    }
  };

  // The number of the variable at an address.
  std::size_t owner(Integer address) const {
    const auto above = std::upper_bound(bases.begin(), bases.end(), address);
    check(above != bases.begin());
    return static_cast<std::size_t>(above - bases.begin()) - 1;
  }

  // Evenly spaced elements of one variable, beginning at an address.
  poplar::Tensor piece(Integer address, Integer count, Integer stride) {
    const std::size_t number = owner(address);
    const poplar::Tensor &all = flat[number];
    const auto room = static_cast<Integer>(all.numElements());
    const Integer first = address - bases[number];
    check(count > 0 && first >= 0 && first < room);
    if (count == 1) stride = 0;
    check(stride > -room && stride < room && (stride == 0 || count - 1 <= (room - 1) / std::abs(stride)));
    const Integer last = first + (count - 1) * stride;
    check(last >= 0 && last < room);
    const auto low = static_cast<std::size_t>(std::min(first, last));
    const poplar::Tensor part = all.slice(low, static_cast<std::size_t>(std::max(first, last)) + 1);
    if (stride == 1 || count == 1) return part;
    if (stride == 0) return part.broadcast(static_cast<unsigned>(count), 0);
    const poplar::Tensor forward = stride < 0 ? part.reverse(0) : part;
    const auto step = static_cast<unsigned>(std::abs(stride));
    return step == 1 ? forward : forward.subSample(step, 0);
  }

  template <class T> std::unique_ptr<T[]> values(Integer at, Integer count, bool uniform) const {
    const Column &all = tables["values.bytes"];
    check(are_within(at, uniform ? 1 : count, sizeof(T), all.size));
    std::unique_ptr<T[]> copied(new T[tables.count(count)]);
    const unsigned char *from = all.data + at;
    for (Integer k = 0; k < count; ++k)
      std::memcpy(&copied[static_cast<std::size_t>(k)], from + (uniform ? 0 : k * Integer(sizeof(T))),
                  sizeof(T));
    return copied;
  }

  void add_variable(Integer number) {
    const Integer type = tables["variable.type"][number], count = tables["variable.count"][number];
    const Integer at = tables["variable.values"][number];
    const bool uniform = tables["variable.uniform"][number] != 0;
    const std::string name = tables.text(tables["variable.name"][number]);
    std::vector<std::size_t> shape;
    const auto [begin, end] = Tables::part(tables["variable.dims_end"], number);
    const std::size_t size = tables.count(count);
    std::size_t product = 1;
    for (Integer k = begin; k < end; ++k) {
      shape.push_back(count_of(tables["dim.size"][k]));
      check(shape.back() == 0 || product <= size / shape.back() || size == 0);
      product *= size == 0 ? (shape.back() == 0 ? 0 : 1) : shape.back();
    }
    check(product == size);

    poplar::Tensor made = with_type(type, [&](auto *kind) {
      using T = std::remove_pointer_t<decltype(kind)>;
      if (tables["variable.constant"][number])
        return constant(type, shape, values<T>(at, count, uniform).get(), size, name);
      poplar::Tensor variable = graph.addVariable(type_of(type), shape, name);
      if (at >= 0 && count > 0) first_values(type, variable, values<T>(at, count, uniform).get(), size);
      return variable;
    });
    bases.push_back(tables["variable.base"][number]);
    flat.push_back(made.flatten());
    map_tiles(number, flat.back());
    if (tables["variable.host"][number]) {
      graph.createHostRead("variable:" + name, made);
      graph.createHostWrite("variable:" + name, made);
    }
  }

  void map_tiles(Integer number, const poplar::Tensor &variable) {
    const Integer tile = tables["variable.tile"][number];
    if (tile >= 0) graph.setTileMapping(variable, static_cast<unsigned>(tile));
    if (tables["variable.breaks"][number] < 0) return;
    const Series breaks = series_of(tables, tables["variable.breaks"][number]);
    const Series tiles = series_of(tables, tables["variable.tiles"][number]);
    std::vector<std::vector<poplar::Interval>> mapping(static_cast<std::size_t>(tables["machine"][0]));
    const Integer count = tables["variable.count"][number];
    check(breaks[0] == 0);
    for (Integer k = 0; breaks[k] < count; ++k) {
      check(breaks[k] <= breaks[k + 1] && breaks[k + 1] <= count && k <= 2 * count);
      if (tiles[k] >= 0 && breaks[k] < breaks[k + 1])
        mapping.at(count_of(tiles[k]))
            .push_back(poplar::Interval(static_cast<std::size_t>(breaks[k]),
                                        static_cast<std::size_t>(breaks[k + 1])));
    }
    graph.setTileMapping(variable, mapping);
  }

  void add_stream(Integer number) {
    const std::string name = tables.text(tables["stream.name"][number]);
    const poplar::Type &type = type_of(tables["stream.type"][number]);
    const std::size_t count = count_of(tables["stream.count"][number]);
    const bool is_input = tables["stream.input"][number] != 0;
    streams.push_back(is_input ? graph.addHostToDeviceFIFO(name, type, count)
                               : graph.addDeviceToHostFIFO(name, type, count));
  }

  // A function of the host.
  void add_called(Integer number) {
    std::vector<poplar::Graph::HostFunctionArgument> inputs, outputs;
    const auto [begin, end] = Tables::part(tables["called.end"], number);
    for (Integer k = begin; k < end; ++k) {
      const std::size_t count = count_of(tables["argument.count"][k]);
      check(outputs.empty() || tables["argument.input"][k]); // inputs come first
      (tables["argument.input"][k] ? outputs : inputs).emplace_back(type_of(tables["argument.type"][k]), count);
    }
    called.push_back(graph.addHostFunction(tables.text(tables["called.name"][number]), inputs, outputs));
  }

  void add_handle(Integer number) {
    const std::string name = tables.text(tables["handle.name"][number]);
    const poplar::Tensor found = tensor(tables["handle.of"][number]);
    if (tables["handle.writes"][number]) graph.createHostWrite(name, found);
    else graph.createHostRead(name, found);
  }

  void add_compute_set(Integer number) {
    compute_sets.push_back(graph.addComputeSet(tables.text(tables["cs.name"][number])));
    const auto [begin, end] = Tables::part(tables["cs.families_end"], number);
    for (Integer family = begin; family < end; ++family) add_family(family);
  }

  void add_family(Integer family) {
    const std::string name = tables.text(tables["family.class"][family]);
    const Series stops = series_of(tables, tables["family.stops"][family]);
    const Series tiles = series_of(tables, tables["family.tiles"][family]);
    const auto count = static_cast<Integer>(tables.count(tables["family.count"][family]));
    std::vector<poplar::VertexRef> vertices;
    for (Integer k = 0, run = 0; k < count; ++k) {
      while (k >= stops[run]) check(++run <= 2 * count);
      check(tiles[run] >= 0 && tiles[run] < tables["machine"][0]);
      vertices.push_back(graph.addVertex(compute_sets.back(), name));
      graph.setTileMapping(vertices.back(), static_cast<unsigned>(tiles[run]));
    }
    estimate(family, vertices);
    const auto [begin, end] = Tables::part(tables["family.fields_end"], family);
    for (Integer field = begin; field < end; ++field) {
      if (tables["field.kind"][field] <= LIST_OF_EDGES) connect(field, vertices);
      else with_type(tables["field.type"][field], [&](auto *kind) { set_state(field, vertices, kind); });
    }
  }

  // The model needs an estimate for each vertex; 1 if the user gave none.
  void estimate(Integer family, const std::vector<poplar::VertexRef> &vertices) {
    const Integer cycles = tables["family.cycles"][family];
    if (cycles < 0 && !is_model) return;
    std::optional<Series> each, flops;
    if (cycles >= 0) {
      each = series_of(tables, cycles);
      flops = series_of(tables, tables["family.flops"][family]);
    }
    for (std::size_t k = 0; k < vertices.size(); ++k) {
      const auto of = [&](const std::optional<Series> &series) {
        return series ? static_cast<std::uint64_t>((*series)[static_cast<Integer>(k)]) : 0;
      };
      if (of(each) > 0 || is_model)
        graph.setPerfEstimate(vertices[k], std::max<std::uint64_t>(of(each), 1), of(flops));
    }
  }

  void connect(Integer field, const std::vector<poplar::VertexRef> &vertices) {
    const std::string name = tables.text(tables["field.name"][field]);
    const Integer kind = tables["field.kind"][field];
    check(kind >= 0);
    Edges edges(*this, tables["field.of"][field]);
    Integer edge = 0;
    for (std::size_t k = 0; k < vertices.size(); ++k) {
      const poplar::FieldRef at = vertices[k][name];
      if (kind == LIST_OF_EDGES) {
        std::vector<poplar::Tensor> rows;
        const Integer count = edges.rows[static_cast<Integer>(k)];
        check(count >= 0);
        for (Integer row = 0; row < count; ++row)
          rows.push_back(edges.tensor(edge++));
        graph.connect(at, rows);
      } else {
        const poplar::Tensor found = edges.tensor(edge++);
        graph.connect(at, kind == SCALAR_EDGE ? found.reshape({}) : found);
      }
    }
  }

  template <class T> void set_state(Integer field, const std::vector<poplar::VertexRef> &vertices, T *) {
    const std::string name = tables.text(tables["field.name"][field]);
    const Integer kind = tables["field.kind"][field], of = tables["field.of"][field];
    const bool is_half = tables["field.type"][field] == HALF;
    const auto count = static_cast<Integer>(vertices.size());
    if (kind == VECTORS) {
      const Series lengths = series_of(tables, tables["field.length"][field]);
      Integer at = of;
      for (Integer k = 0; k < count; ++k) {
        const Integer length = lengths[k];
        const auto all = values<T>(at, length, false);
        set_vector(vertices[static_cast<std::size_t>(k)][name], all.get(), static_cast<std::size_t>(length),
                   is_half);
        at += length * Integer(sizeof(T));
      }
      return;
    }
    const Series numbers = kind == SERIES ? series_of(tables, of) : Series();
    const Column &all = tables["values.bytes"];
    check(kind == SERIES || are_within(of, kind == ONE_VALUE ? 1 : count, sizeof(T), all.size));
    for (Integer k = 0; k < count; ++k) {
      T value;
      if (kind == SERIES) value = static_cast<T>(numbers[k]);
      else std::memcpy(&value, all.data + of + (kind == ONE_VALUE ? 0 : k * Integer(sizeof(T))), sizeof(T));
      const poplar::FieldRef at = vertices[static_cast<std::size_t>(k)][name];
      set_value(at, value, is_half);
    }
  }

  template <class T> void set_value(const poplar::FieldRef &at, T value, bool is_half) {
    if constexpr (std::is_same_v<T, std::uint16_t>)
      if (is_half) return graph.setInitialValueHalf(at, value);
    graph.setInitialValue(at, value);
  }

  template <class T>
  void set_vector(const poplar::FieldRef &at, const T *all, std::size_t size, bool is_half) {
    if constexpr (std::is_same_v<T, std::uint16_t>)
      if (is_half) return graph.setInitialValueHalf(at, poplar::ArrayRef<std::uint16_t>(all, size));
    graph.setInitialValue(at, poplar::ArrayRef<T>(all, size));
  }

  template <class T>
  poplar::Tensor constant(Integer type, const std::vector<std::size_t> &shape, const T *all, std::size_t size,
                          const std::string &name) {
    if constexpr (std::is_same_v<T, std::uint16_t>)
      if (type == HALF) return graph.addConstantHalf(type_of(type), shape, all, name);
    return graph.addConstant(type_of(type), shape, poplar::ArrayRef<T>(all, size), name);
  }

  template <class T>
  void first_values(Integer type, const poplar::Tensor &variable, const T *all, std::size_t size) {
    if constexpr (std::is_same_v<T, std::uint16_t>)
      if (type == HALF)
        return graph.setInitialValueHalf(variable, poplar::ArrayRef<std::uint16_t>(all, size));
    graph.setInitialValue(variable, poplar::ArrayRef<T>(all, size));
  }

  const Tables &tables;
  poplar::Graph &graph;
  bool is_model;
  std::vector<Integer> bases;
  std::vector<poplar::Tensor> flat;
};

// ---- Programs -------------------------------------------------------------------------------

// All distinct programs, each made from earlier ones.
class Programs {
public:
  Programs(const Tables &tables, poplar::Graph &graph, Builder &builder, bool is_model)
      : tables(tables), graph(graph), builder(builder), is_model(is_model) {
    functions.resize(tables["function.name"].size);
    buffers.resize(functions.size());
    for (std::size_t k = 0; k < tables["node.op"].size; ++k) nodes.push_back(node(static_cast<Integer>(k)));
  }

  const poplar::program::Program &operator[](Integer number) const {
    return nodes.at(static_cast<std::size_t>(number));
  }

  // Sets how floating-point arithmetic behaves, by the bits of poplite/machine/floating_point.py.
  poplar::program::Sequence arithmetic(Integer bits) {
    poplar::program::Sequence sequence;
    poplar::setFloatingPointBehaviour(graph, sequence, behaviour(bits));
    return sequence;
  }

private:
  // As in poplite/ipu/tables/tables.py.
  enum Op {
    SEQUENCE,
    EXECUTE,
    COPY,
    FROM_HOST,
    TO_HOST,
    REPEAT,
    WHILE_TRUE,
    WHILE_FALSE,
    LOOP,
    IF,
    SWITCH,
    CALL,
    ABORT,
    ABORT_ON,
    ERROR,
    SYNC,
    WRITE_UNDEF,
    HOST_CALL,
    STAMP,
    SET_BEHAVIOUR,
    MODIFY_BEHAVIOUR,
    SET_ROUNDING,
    LOAD_CODE
  };

  poplar::program::Program node(Integer number) {
    using namespace poplar::program;
    const Integer a = tables["node.a"][number], b = tables["node.b"][number];
    const auto [begin, end] = Tables::part(tables["node.children_end"], number);
    const auto part = [&, first = begin](Integer k) { return (*this)[tables["child"][first + k]]; };
    switch (tables["node.op"][number]) {
    case EXECUTE: {
      const poplar::ComputeSet &set = builder.compute_sets.at(static_cast<std::size_t>(a));
      return b < 0 ? Execute(set) : Execute(set, builder.scalar(b));
    }
    case COPY: return Copy(builder.tensor(a), builder.tensor(b));
    case FROM_HOST: return Copy(builder.streams.at(static_cast<std::size_t>(a)), builder.tensor(b));
    case TO_HOST: return Copy(builder.tensor(b), builder.streams.at(static_cast<std::size_t>(a)));
    case REPEAT: return Repeat(static_cast<unsigned>(a), part(0));
    case WHILE_TRUE: return RepeatWhileTrue(part(0), builder.scalar(a), part(1));
    case WHILE_FALSE: return RepeatWhileFalse(part(0), builder.scalar(a), part(1));
    case LOOP: return Loop(part(0));
    case IF: return If(builder.scalar(a), part(0), part(1));
    case SWITCH: {
      std::vector<std::pair<std::int32_t, Program>> cases;
      for (Integer k = 1; k < end - begin; ++k)
        cases.emplace_back(static_cast<std::int32_t>(tables["case.value"][b + k - 1]), part(k));
      return Switch(builder.scalar(a), cases, part(0));
    }
    case CALL: return Call(function(a));
    case LOAD_CODE: {
      auto &buffer = buffers.at(static_cast<std::size_t>(a));
      if (!buffer) buffer = graph.addFunctionBuffer(function(a), poplar::FunctionBufferMappingType::REMOTE);
      return Copy(*buffer, function(a));
    }
    case ABORT: return Abort(tables.text(a));
    case ABORT_ON: return AbortOnCondition(builder.scalar(a), tables.text(b));
    case ERROR: return ErrorProgram(tables.text(a), builder.tensor(b));
    case SYNC: return Sync(sync_type(a));
    case WRITE_UNDEF: return WriteUndef(builder.tensor(a));
    case HOST_CALL: return host_call(a, b);
    case STAMP: return stamp(a);
    case SET_BEHAVIOUR: return arithmetic(a);
    case MODIFY_BEHAVIOUR: {
      Sequence sequence;
      poplar::getAndModifyFloatingPointBehaviour(graph, sequence, behaviour(a), behaviour(b));
      return sequence;
    }
    case SET_ROUNDING: {
      Sequence sequence;
      poplar::setStochasticRounding(graph, sequence, a != 0);
      return sequence;
    }
    default: {
      Sequence sequence;
      for (Integer k = 0; k < end - begin; ++k) sequence.add(part(k));
      return sequence;
    }
    }
  }

  const poplar::Function &function(Integer number) {
    auto &made = functions.at(static_cast<std::size_t>(number));
    if (!made) made = graph.addFunction((*this)[tables["function.root"][number]]);
    return *made;
  }

  static poplar::FloatingPointBehaviour behaviour(Integer bits) {
    return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0};
  }

  static poplar::SyncType sync_type(Integer number) {
    return number == 0   ? poplar::SyncType::INTERNAL
           : number == 1 ? poplar::SyncType::EXTERNAL
                         : poplar::SyncType::GLOBAL;
  }

  poplar::program::Program host_call(Integer number, Integer first) {
    std::vector<poplar::Tensor> inputs, outputs;
    const auto [begin, end] = Tables::part(tables["called.end"], number);
    for (Integer k = begin; k < end; ++k)
      (tables["argument.input"][k] ? outputs : inputs)
          .push_back(builder.tensor(tables["call.tensor"][first + k - begin]));
    return poplar::program::Call(builder.called.at(static_cast<std::size_t>(number)), inputs, outputs);
  }

  // Stores the counter of a tile, or the cycles since an earlier one.
  poplar::program::Program stamp(Integer number) {
    using namespace poplar::program;
    if (is_model) throw std::runtime_error("the IPU Model has no cycle counters, which a program reads");
    Sequence sequence;
    const auto tile = static_cast<unsigned>(tables["stamp.tile"][number]);
    const poplar::Tensor taken = builder.tensor(tables["stamp.tensor"][number]);
    const poplar::SyncType sync = sync_type(tables["stamp.sync"][number]);
    const poplar::Tensor now = poplar::cycleStamp(graph, sequence, tile, sync);
    const Integer since = tables["stamp.since"][number];
    if (since < 0) {
      sequence.add(Copy(now, taken));
      return sequence;
    }
    const poplar::ComputeSet set = graph.addComputeSet("cycles since");
    const poplar::VertexRef vertex = graph.addVertex(set, tables.text(tables["since.class"][0]));
    graph.setTileMapping(vertex, tile);
    graph.connect(vertex["before"], builder.tensor(since));
    graph.connect(vertex["now"], now);
    graph.connect(vertex["taken"], taken);
    sequence.add(Execute(set));
    return sequence;
  }

  const Tables &tables;
  poplar::Graph &graph;
  Builder &builder;
  bool is_model;
  std::vector<poplar::program::Program> nodes;
  std::vector<std::optional<poplar::Function>> functions;
  std::vector<std::optional<poplar::FunctionBuffer>> buffers;
};

// ---- Devices --------------------------------------------------------------------------------

poplar::Device device_of(const std::string &kind, unsigned num_tiles) {
  if (kind == "model") {
    poplar::IPUModel model;
    model.numIPUs = 1;
    model.tilesPerIPU = num_tiles;
    return model.createDevice();
  }
  auto manager = poplar::DeviceManager::createDeviceManager();
  for (auto &device : manager.getDevices(poplar::TargetType::IPU, 1))
    if (device.attach()) return std::move(device);
  throw std::runtime_error("no IPU is free: none is there, or all are in use");
}

// ---- Errors ---------------------------------------------------------------------------------

template <class E> bool is(const std::exception &error) { return dynamic_cast<const E *>(&error) != nullptr; }

// The name of the class of an exception; derived classes come before their bases.
std::string class_of(const std::exception &error) {
#define POPLITE_CLASS(name)                                                                                  \
  if (is<poplar::name>(error)) return #name;
  POPLITE_CLASS(recoverable_runtime_error)
  POPLITE_CLASS(unrecoverable_runtime_error)
  POPLITE_CLASS(unknown_runtime_error)
  POPLITE_CLASS(system_runtime_error)
  POPLITE_CLASS(application_runtime_error)
  POPLITE_CLASS(runtime_error)
  POPLITE_CLASS(graph_memory_allocation_error)
  POPLITE_CLASS(stream_memory_allocation_error)
  POPLITE_CLASS(stream_connection_error)
  POPLITE_CLASS(graph_connection_error)
  POPLITE_CLASS(graph_cycle_error)
  POPLITE_CLASS(graph_recursion_error)
  POPLITE_CLASS(graph_replication_error)
  POPLITE_CLASS(graph_object_load_error)
  POPLITE_CLASS(graph_object_creation_error)
  POPLITE_CLASS(graph_program_compilation_error)
  POPLITE_CLASS(control_program_error)
  POPLITE_CLASS(file_load_error)
  POPLITE_CLASS(index_error)
  POPLITE_CLASS(invalid_machine_model)
  POPLITE_CLASS(invalid_option)
  POPLITE_CLASS(invalid_tile_mapping)
  POPLITE_CLASS(link_error)
  POPLITE_CLASS(memory_elem_constraints_error)
  POPLITE_CLASS(missing_perf_estimate)
  POPLITE_CLASS(no_environment)
  POPLITE_CLASS(no_size_specified)
  POPLITE_CLASS(overflow_error)
  POPLITE_CLASS(parse_error)
  POPLITE_CLASS(profiling_disabled)
  POPLITE_CLASS(symbol_error)
  POPLITE_CLASS(tensor_creation_error)
  POPLITE_CLASS(tensor_io_state_error)
  POPLITE_CLASS(tensor_metadata_error)
  POPLITE_CLASS(type_error)
  POPLITE_CLASS(unknown_field)
  POPLITE_CLASS(unknown_vertex_type)
  POPLITE_CLASS(poplar_error)
#undef POPLITE_CLASS
  if (is<std::bad_alloc>(error)) return "std::bad_alloc";
  if (is<std::out_of_range>(error)) return "std::out_of_range";
  if (is<std::logic_error>(error)) return "std::logic_error";
  if (is<std::runtime_error>(error)) return "std::runtime_error";
  return "std::exception";
}

// ---- The session ----------------------------------------------------------------------------

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Arguments {
  std::string tables, codelets, mapping, device = "hardware", executable;
};

// A command that needs an engine before there is one, or an unknown name.
struct Refused : std::logic_error {
  using std::logic_error::logic_error;
};

class Session {
public:
  explicit Session(const Arguments &arguments)
      : arguments(arguments), tables(arguments.tables), mapping(arguments.mapping, true) {
    if (mapping.size < static_cast<std::size_t>(tables["machine"][1]))
      throw std::runtime_error(arguments.mapping + " is smaller than the tables say");
    for (std::size_t k = 0; k < tables["program.name"].size; ++k)
      check(numbers.emplace(tables.text(tables["program.name"].at(k)), static_cast<unsigned>(k)).second);
    arithmetic = static_cast<unsigned>(numbers.size());
    for (std::size_t k = 0; k < tables["variable.name"].size; ++k)
      if (tables["variable.host"].at(k)) {
        const std::string name = "variable:" + tables.text(tables["variable.name"].at(k));
        reads[name] = writes[name] =
            bytes_of(tables["variable.count"].at(k), tables["variable.type"].at(k), 0);
      }
    for (std::size_t k = 0; k < tables["handle.name"].size; ++k) {
      const Integer length = tables["edges.length"][tables["handle.of"].at(k)];
      const Integer count = series_of(tables, length)[0];
      const std::string name = tables.text(tables["handle.name"].at(k));
      check(tables["edges.type"][tables["handle.of"].at(k)] == tables["handle.type"].at(k));
      (tables["handle.writes"].at(k) ? writes : reads)[name] = bytes_of(count, tables["handle.type"].at(k), 0);
    }
  }

  // Serves commands until they end.
  void serve() {
    std::string line;
    while (next_line(line) && line != "quit") {
      std::string reply;
      try {
        reply = answer(line);
      } catch (const std::exception &error) {
        reply = failed(class_of(error), error.what());
      } catch (...) {
        reply = failed("unknown", "");
      }
      say(reply);
    }
  }

private:
  // The size in bytes of elements that begin at a byte of the mapping.
  std::size_t bytes_of(Integer count, Integer type, Integer offset) const {
    check(are_within(offset, count, size_of(type), mapping.size));
    return static_cast<std::size_t>(count) * size_of(type);
  }

  std::string answer(const std::string &line) {
    const auto space = line.find(' ');
    const std::string command = line.substr(0, space);
    const std::string name = space == std::string::npos ? "" : line.substr(space + 1);
    if (command == "start") return start();
    if (!engine) throw Refused("'" + command + "' before start");
    if (command == "run") return run(name);
    if (command == "reset") {
      engine->run(arithmetic);
      return "ok";
    }
    if (command == "write") {
      engine->writeTensor(name, mapping.data, mapping.data + known(writes, name));
      return "ok";
    }
    if (command == "read") {
      engine->readTensor(name, mapping.data, mapping.data + known(reads, name));
      return "ok";
    }
    throw Refused("no command '" + command + "'");
  }

  std::string start() {
    if (engine) throw Refused("started already");
    const auto num_tiles = static_cast<unsigned>(tables["machine"][0]);
    device.emplace(device_of(arguments.device, num_tiles));
    const unsigned there = device->getTarget().getTilesPerIPU();
    if (there < num_tiles)
      throw std::runtime_error("the graph has " + std::to_string(num_tiles) + " tiles, the device " +
                               std::to_string(there));
    double built = 0;
    const auto begin = std::chrono::steady_clock::now();
    std::unique_ptr<poplar::Engine> made(new poplar::Engine(executable(built)));
    made->load(*device);
    engine = std::move(made);
    connect_streams();
    connect_called();
    engine->run(arithmetic);
    return "ready " + std::to_string(built) + " " + std::to_string(seconds_since(begin) - built);
  }

  // The saved executable, or one that Poplar compiles; notes the seconds to build the graph.
  poplar::Executable executable(double &built) const {
    const std::string &path = arguments.executable;
    std::ifstream kept(path, std::ios::binary);
    if (kept) {
      try {
        return poplar::Executable::deserialize(kept);
      } catch (const std::exception &error) {
        throw std::runtime_error(path + " cannot be loaded; remove it, and it is made anew: " + error.what());
      }
    }
    const auto begin = std::chrono::steady_clock::now();
    const auto num_tiles = static_cast<unsigned>(tables["machine"][0]);
    const bool is_model = arguments.device == "model";
    poplar::Graph whole(device->getTarget());
    whole.addCodelets(arguments.codelets);
    poplar::Graph graph = device->getTarget().getTilesPerIPU() == num_tiles
                              ? whole
                              : whole.createVirtualGraph(0, num_tiles);
    Builder builder(tables, graph, is_model);
    Programs programs(tables, graph, builder, is_model);
    std::vector<poplar::program::Program> named;
    for (const auto &[name, number] : in_order()) {
      poplar::program::Sequence sequence;
      sequence.add(programs[tables["program.root"][number]]);
      if (!is_model) {
        const poplar::Tensor cycles = poplar::cycleCount(graph, sequence, 0, poplar::SyncType::INTERNAL);
        graph.createHostRead("cycles:" + name, cycles);
      }
      named.push_back(sequence);
    }
    named.push_back(programs.arithmetic(tables["machine"][2]));
    built = seconds_since(begin);
    poplar::Executable made = poplar::compileGraph(whole, named);
    if (!path.empty() && !is_model) {
      const std::string scratch = path + "." + std::to_string(getpid());
      std::ofstream file(scratch, std::ios::binary);
      made.serialize(file);
      file.close();
      if (!file || std::rename(scratch.c_str(), path.c_str()) != 0)
        throw std::runtime_error("cannot write " + path);
    }
    return made;
  }

  std::string run(const std::string &name) {
    const unsigned number = known(numbers, name);
    stopped = false;
    const auto begin = std::chrono::steady_clock::now();
    try {
      engine->run(number);
    } catch (const std::exception &) {
      if (!stopped) throw;
    }
    const double seconds = seconds_since(begin);
    if (stopped) return failed("Stopped", "");
    std::uint32_t words[2] = {0, 0};
    if (arguments.device != "model") engine->readTensor("cycles:" + name, words, words + 2);
    const std::uint64_t cycles = std::uint64_t(words[1]) << 32 | words[0];
    return "ok " + std::to_string(cycles) + " " + std::to_string(seconds);
  }

  void connect_streams() {
    for (std::size_t k = 0; k < tables["stream.name"].size; ++k) {
      const std::string name = tables.text(tables["stream.name"].at(k));
      const Integer offset = tables["stream.offset"].at(k);
      const std::size_t size = bytes_of(tables["stream.count"].at(k), tables["stream.type"].at(k), offset);
      unsigned char *place = mapping.data + offset;
      if (tables["stream.input"].at(k))
        engine->connectStreamToCallback(name, [this, name, place, size](void *block) {
          if (asked("fetch " + name)) std::memcpy(block, place, size);
        });
      else
        engine->connectStreamToCallback(name, [this, name, place, size](void *block) {
          std::memcpy(place, block, size);
          asked("sink " + name);
        });
    }
  }

  void connect_called() {
    for (std::size_t k = 0; k < tables["called.name"].size; ++k) {
      const std::string name = tables.text(tables["called.name"].at(k));
      engine->connectHostFunction(
          name, 0,
          [this, name, k](poplar::ArrayRef<const void *> inputs, poplar::ArrayRef<void *> outputs) -> void {
            for (std::size_t n = 0; n < inputs.size(); ++n) {
              const auto [place, size] = argument(k, n);
              std::memcpy(place, inputs[n], size);
            }
            if (!asked("call " + name)) return;
            for (std::size_t n = 0; n < outputs.size(); ++n) {
              const auto [place, size] = argument(k, inputs.size() + n);
              std::memcpy(outputs[n], place, size);
            }
          });
    }
  }

  // The position in the mapping of an array of a host function, and its size in bytes.
  std::pair<unsigned char *, std::size_t> argument(std::size_t function, std::size_t number) const {
    const auto [begin, end] = Tables::part(tables["called.end"], static_cast<Integer>(function));
    const std::size_t row = static_cast<std::size_t>(begin) + number;
    const Integer offset = tables["argument.offset"].at(row);
    const auto size = bytes_of(tables["argument.count"].at(row), tables["argument.type"].at(row), offset);
    return {mapping.data + offset, size};
  }

  // Returns whether Python answered ok; if not, the run ends.
  bool asked(const std::string &question) {
    if (stopped) return false;
    say(question);
    std::string line;
    if (next_line(line) && line == "ok") return true;
    stopped = true;
    engine->stop();
    return false;
  }

  template <class T> static T known(const std::map<std::string, T> &all, const std::string &name) {
    const auto found = all.find(name);
    if (found == all.end()) throw Refused("no '" + name + "'");
    return found->second;
  }

  std::vector<std::pair<std::string, unsigned>> in_order() const {
    std::vector<std::pair<std::string, unsigned>> all(numbers.begin(), numbers.end());
    std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
    return all;
  }

  static std::string failed(const std::string &name, const std::string &text) {
    return "error " + name + " " + std::to_string(text.size()) + "\n" + text;
  }

  bool next_line(std::string &line) {
    line.clear();
    for (int c = std::fgetc(commands); c != EOF; c = std::fgetc(commands)) {
      if (c == '\n') return true;
      line += static_cast<char>(c);
    }
    return false;
  }

  // Error texts need no line end, since their length is sent.
  void say(const std::string &reply) {
    std::fputs(reply.c_str(), replies);
    if (reply.compare(0, 6, "error ") != 0) std::fputc('\n', replies);
    std::fflush(replies);
  }

  Arguments arguments;
  Tables tables;
  Mapped mapping;
  std::FILE *commands = fdopen(3, "r");
  std::FILE *replies = fdopen(4, "w");
  std::map<std::string, unsigned> numbers;
  unsigned arithmetic = 0; // the program after them, which sets the initial modes of arithmetic
  std::map<std::string, std::size_t> reads, writes;
  std::optional<poplar::Device> device;
  std::unique_ptr<poplar::Engine> engine;
  bool stopped = false;
};

} // namespace

int main(int count, char **given) {
  const std::vector<std::string> words(given + 1, given + count);
  Arguments arguments;
  bool is_understood = words.size() >= 3 && words.size() % 2 == 1;
  for (std::size_t k = 3; k + 1 < words.size(); k += 2) {
    if (words[k] == "--device" && (words[k + 1] == "model" || words[k + 1] == "hardware"))
      arguments.device = words[k + 1];
    else if (words[k] == "--executable") arguments.executable = words[k + 1];
    else is_understood = false;
  }
  if (!is_understood) {
    std::cerr << "usage: host TABLES CODELETS MAPPING [--device hardware|model] [--executable FILE]\n";
    return 2;
  }
  try {
    arguments.tables = words[0];
    arguments.codelets = words[1];
    arguments.mapping = words[2];
    Session(arguments).serve();
  } catch (const std::exception &error) {
    std::cerr << "host: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
