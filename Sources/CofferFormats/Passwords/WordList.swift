/// Short, common English words for passphrases that are easy to say and type.
///
/// Words of three to seven letters, without duplicates. Their number determines the bits of a word.
enum WordList {
  static let words: [Substring] = text.split { $0 == " " || $0 == "\n" }

  private static let text = """
    able above absent accept acid acorn across act actor adapt add admit adobe adopt adult advice affair afford after again age
    agent agile ago agree ahead aid aim air aisle alarm album alert algae alibi alien alike alive alley allow ally almond alone
    alpha also alter always amber amend amid among ample anchor angel angle animal ankle annual answer ant antler any apart
    apple apply april apron arch arctic area arena argue arise arm armor army aroma around arrive arrow art ash aside ask asleep
    aspen asset atlas atom attic audio august aunt author auto autumn avenue avoid awake award aware away awful axis axle baby
    back bacon badge bag bagel bake baker ball ballad bamboo banana band banjo bank banner bar barber bard bare bargain bark
    barley barn baron barrel base basic basil basin basket bat bath batter bay beach bead beak beam bean bear beard beast beat
    beauty beaver become bed bee beech beef beetle begin behind being bell belong below belt bench bend berry beside best better
    beyond bike bill bind birch bird birth biscuit bison bit bite bitter black blade blame blank blanket blast blaze blend bless
    blimp blink block bloom blouse blow blue bluff blunt blur blush board boat body boil bold bolt bond bone bonus book boost
    boot border borrow both bottle bottom bounce bow bowl box boy brain brake branch brand brass brave bread break breath breeze
    brew brick bride bridge brief bright bring brisk broad broke bronze broom broth brown brush bubble bucket bud budget buffet
    bug build bulb bulk bull bunch bundle bunny burger burn burst bus bush busy butter button buy buzz cab cabbage cabin cable
    cactus cafe cage cake call calm camel camera camp can canal candle candy cane canoe canvas canyon cape caper car carbon card
    care cargo carol carpet carrot carry cart carve case cash castle casual cat catch cattle cause cave cedar celery cell cello
    cement center cereal chain chair chalk champ chance change chapel charge charm chart chase chat cheap check cheek cheer
    cheese chef cherry chess chest chew chick chief child chill chimney chin chip choice choose chorus chunk church cider cigar
    cinema circle circus city civil claim clam clap class clay clean clear clerk clever click cliff climb clip clock close cloth
    cloud clover clown club clue coach coal coast coat cobalt cobra cocoa code coffee coil coin cold collar color colt comb come
    comet comic common compass concert cone cook cookie cool copper copy coral core cork corn corner cosmic cost cosy cotton
    couch cougar count county couple course court cousin cover cow coyote crab craft crane crate crawl crazy cream credit creek
    crest crew cricket crisp crop cross crowd crown cruise crumb crunch crush crust cry crystal cub cube cuff cup curb cure curl
    curry curve cushion custom cut cycle cymbal daily dairy daisy dame damp dance danger dare dark dart dash data date dawn day
    deal dear debate debt decade deck deed deep deer degree delay delta demand denim dense dentist deny depth derby desert
    design desk detail device dew dial diamond diary dice diesel diet dig digit dime diner dinner dip direct dirt disc dish dive
    dock doctor dodge dog doll dollar dolphin dome donate donkey door dose dot double dough dove down dozen draft dragon drain
    drama draw dream dress drift drill drink drip drive drop drum dry duck due duel duet dull dune dusk dust duty dwarf dwell
    each eager eagle ear early earn earth ease easel east easy eat echo edge edit effect effort egg eight either elbow elder
    elect elegant elf elk elm else ember emblem emerald empire empty end energy engine enjoy enough enter entry envy equal era
    error escape essay estate even event ever every exact exam excel excess exist exit exotic expand expert extra eye fable
    fabric face fact factor fade fair fairy faith fall false fame family famous fan fancy far farm fashion fast fault favor
    feast feather fee feed feel fellow felt fence fern ferry fetch fever few fiber fiddle field fig fight figure file fill film
    filter final finch find fine finger finish fire firm first fish fist fit five fix flag flame flash flask flat flavor flax
    flea fleet flesh flex flight flint flip float flock flood floor flour flow flower fluid flute fly foam focus fog foil fold
    folk follow food foot force forest forge fork form fort forum forward fossil found four fox frame free freeze fresh friend
    frog front frost fruit fuel full fun fund funny fur future gable gadget gain galaxy gallery game gap garage garden garlic
    gas gate gather gauge gem general genius gentle ghost giant gift giggle ginger giraffe girl give glacier glad glass gleam
    glide globe gloom glory glove glow glue goal goat gold golf good goose gospel grace grade grain grand grant grape graph
    grass gravel gravy gray great green greet grid grill grin grip grocer groove ground group grove grow guard guess guest guide
    guild guitar gulf gull gum guru gym habit hair half hall hammer hamper hand handle happy harbor hard harp harvest hat hatch
    have hawk hay hazel head health heap heart heat heavy hedge heel height helmet help hen herb herd here hero heron hike hill
    hint hip hobby hockey hold hole holiday hollow holly home honest honey hood hook hope horn horse host hotel hour house hover
    huge human humble humor hunt hurdle hurry hut hybrid ice icicle icon idea ideal idle igloo image impact inch income index
    indigo inform ink inlet inner input insect inside intent into invest invite iron island item ivory ivy jacket jaguar jam jar
    jasmine jaw jazz jeans jelly jersey jet jewel job join joke jolly journal joy judge jug juice july jump june jungle junior
    jury just kayak keel keen keep kernel kettle key kick kid kind king kiosk kit kitchen kite kitten kiwi knee knife knight
    knit knob knock knot know koala label labor lace ladder lady lagoon lake lamb lamp lance land lane lantern lap large lark
    laser last latch late later laugh laundry lava law lawn layer lazy lead leaf league lean leap learn lease leather leave
    ledge left leg legal legend lemon lend length lens lentil leopard less lesson letter lettuce level lever liberty library lid
    life lift light lilac lily limb lime limit line linen link lion lip liquid list listen little live lizard load loaf loan
    lobby lobster local lock locker lodge loft logic long look loop loose lotus loud lounge love low loyal luck lumber lunar
    lunch lung lute lyric machine magic magnet maid mail main major make mammal man mango manor mantle maple marble march margin
    marine mark market marsh mask mason mass master mat match mate matter may mayor maze meadow meal mean measure meat medal
    media medium meet mellow melody melon melt member memo memory mend mentor menu mercy merge merit merry mesh metal meteor
    meter method middle might mild mile milk mill mimic mind mine mineral mint minute mirror mist mitten mix mobile model modern
    modest moist mold mole moment monday money monk monkey month mood moon moose moral morning moss moth mother motion motor
    mount mouse mouth move movie much mud muffin mule muscle museum music must mutual myth nail name napkin narrow nation native
    nature navy near neat neck nectar need needle nephew nerve nest net neutral never new news next nice nickel night nimble
    nine noble node noise noon normal north nose note nothing notice novel now number nurse nut nylon oak oar oasis oat object
    ocean octave odd offer office often oil old olive omega once onion only onyx open opera optic option orange orbit orchard
    order organ origin other otter ounce outer oval oven over owl own owner oxygen oyster ozone pace pack paddle page paint pair
    palace pale palm pan panda panel panic pansy pantry paper parade park parrot part party pass pasta paste pastry patch path
    patient patrol pause paw pay pea peace peach peak peanut pear pearl pebble pecan pedal peel pen pencil penny people pepper
    perfect permit person pet petal phase phone photo phrase piano pick picnic picture pie piece pier pig pigeon pile pill
    pillow pilot pin pine pink pint pioneer pipe pirate pitch pizza place plain plan plane planet plank plant plate play plaza
    please pledge plenty plot plow plug plum plus pocket poem poet point poke polar pole polish polite pond pony pool popcorn
    poplar poppy porch port pose post pot potato pottery pouch pound powder power praise prefer press pretty price pride prince
    print prism prize profit project promise proof proper proud prove public pudding puddle pull pulse puma pump punch pupil
    puppet puppy pure purple purse push put puzzle quail quake quality quart quartz queen quest quick quiet quill quilt quit
    quiz quota quote rabbit raccoon race rack radar radio radish raft rail rain raise rally ramp ranch random range rank rapid
    rare rate ratio raven raw razor reach read ready real reason rebel recall recipe record red reef reflect regal region relax
    relay relief rely remain remark rent repair repeat reply report rescue rest result retail return reveal reward rhyme ribbon
    rice rich ride ridge right ring rinse ripe ripple rise risk rival river road roar roast robe robin robot rock rocket rod
    role roll roof room root rope rose rotate rough round route row royal ruby rudder rug rule run runner rural rush rust rye
    sack saddle safe saga sail saint salad salmon salon salt same sample sand satin sauce sauna save savor saw say scale scan
    scarf scene scent school science scoop score scout scrap screen script scroll sea seal search season seat second secret
    section see seed seek segment select self sell senior sense series serve session set settle seven shade shadow shaft shake
    shallow shape share shark sharp shed sheep sheet shelf shell shelter shield shift shine ship shirt shock shoe shop shore
    short shout show shower shrimp shrub shuffle shy side sign signal silent silk silly silver simple since sing sink sip siren
    sister site six size sketch ski skill skin skip skirt skull sky slate sleep sleeve slice slide slim sling slope slot slow
    small smart smell smile smoke smooth snack snail snake snow soap soccer social sock soda sofa soft soil solar solid solo
    solve some sonar song soon sort soul sound soup south space spare spark speak spear special speed spell spend sphere spice
    spider spike spin spiral spirit splash split spoke sponge spoon sport spot spray spread spring sprout spruce square squash
    squid stable stack staff stage stair stamp stand star start state statue stay steak steam steel steep stem step stereo stew
    stick still sting stir stitch stock stone stool stop store stork storm story stove straw stream street stretch strike string
    strong student studio study stuff style sugar suit sum summer summit sun sunset super supper supply sure surf surge survey
    swallow swamp swan swap sweat sweep sweet swift swim swing switch sword symbol syrup system table tablet tackle tail take
    tale talent talk tall tame tango tank tape target task taste tavern tax taxi tea teach team tear tell temple tempo ten
    tender tennis tent term terrace test text thank theory thick thimble thing think third thirst thorn thread three thrift
    thrive throat throne throw thumb thunder ticket tide tidy tie tiger tight tile timber time tin tint tiny tip tire tissue
    title toad toast today toe token tomato tone tongue tool tooth top topaz topic torch tornado total touch tour towel tower
    town toy trace track trade trail train trait travel tray treat tree trek trend trial tribe trick trim trio trip trophy
    trouble truck true trumpet trunk trust truth try tub tube tulip tuna tune tunnel turbo turkey turn turnip turtle tutor
    twelve twenty twig twin twist two type ultra uncle under unicorn union unique unit unity until upper urban urge use useful
    usual utter vacant vacuum valid valley value valve van vanilla vapor vault vector velvet vendor venture venue verb verse
    very vessel vest veteran via video view villa village vine vinegar vintage violet violin virtue vision visit visual vital
    vivid vocal voice volcano volume vote vow voyage waffle wagon waist wait wake walk wall walnut walrus wander want warm wash
    wasp watch water wave wax way wealth wear weasel weather weave web wedge week weight welcome well west wet whale wheat wheel
    whim whisk whisper white whole wick wide widget wild willow win wind window wine wing winner winter wire wisdom wise wish
    wolf wonder wood wool word work world worm worth wrap wren wrist write yacht yard yarn year yeast yell yellow yes yet yield
    yoga yogurt young youth zebra zen zero zest zinc zone zoo zoom
    """
}
